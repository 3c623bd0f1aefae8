import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { runHeddle, startHeddleServe } from '../support/heddle.ts';
import { storeUnusedImage } from '../support/images.ts';
import { createSandboxFolder, SPEC } from './sandbox-folder.ts';

describe('heddle sandbox run', () => {
  it('prints the value that the code returns to stdout, and its console output to stderr', async () => {
    const { runSandbox } = await createSandboxFolder({
      'a.js': 'console.log("working"); return { twice: input.n * 2 };',
    });
    expect(await runSandbox('run', 'a.js', '--input', '{"n": 4}')).toMatchObject({
      exitCode: 0,
      stdout: '{\n  "twice": 8\n}\n',
      stderr: 'working\n',
    });
  });

  it('prints values and failures as JSON', async () => {
    const { runSandbox } = await createSandboxFolder({
      'a.js': 'console.log("one"); console.log("two"); return [input];',
      'b.js': 'console.log("before");\nthrow new TypeError("no luck");',
      'c.js': 'for (;;);',
    });
    const goodResult = await runSandbox('run', 'a.js', '--json');
    expect({ ...goodResult, stdout: JSON.parse(goodResult.stdout) as unknown }).toMatchObject({
      exitCode: 0,
      stdout: { ok: true, value: [null], logs: ['one', 'two'], durationMs: expect.any(Number) as number },
      stderr: '',
    });
    const badResult = await runSandbox('run', 'b.js', '--json');
    expect(badResult.exitCode).toBe(1);
    expect(JSON.parse(badResult.stdout)).toEqual({
      ok: false,
      error: { code: 'USER_ERROR', message: 'no luck', line: 2 },
      logs: ['before'],
      durationMs: expect.any(Number) as number,
    });
    const slowResult = await runSandbox('run', 'c.js', '--timeout', '100', '--json');
    expect(slowResult.exitCode).toBe(1);
    expect(JSON.parse(slowResult.stdout)).toMatchObject({
      ok: false,
      error: { code: 'TIMEOUT_CPU' },
      logs: [],
    });
  });

  it('rejects invalid files and options', async () => {
    const { runSandbox } = await createSandboxFolder({ 'a.rb': '', 'a.js': '' });
    expect(await runSandbox('run', 'a.rb')).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('.js, .py or .sh') as string,
    });
    expect(await runSandbox('run', 'a.js', '--timeout', 'soon')).toMatchObject({ exitCode: 2 });
    expect(await runSandbox('run', 'none.js')).toMatchObject({ exitCode: 2 });
  });
});

describe('heddle sandbox build', () => {
  it('builds an image that heddle sandbox run finds by spec file, name and id', async () => {
    const { runSandbox } = await createSandboxFolder({
      'spec.json': JSON.stringify(SPEC),
      'a.js': 'import { greet } from "greeter";\nreturn greet(input);',
    });
    const buildResult = await runSandbox('build', 'spec.json');
    expect(buildResult).toMatchObject({
      exitCode: 0,
      stderr: expect.stringContaining('resolving') as string,
    });
    expect(buildResult.stdout).toMatch(
      /^✓ greetings {2}javascript, isolate, 1 package, \d+\.\d MiB, built in .*\n {2}[0-9a-f]{64}\n {2}greeter 1\.0\.0\n$/,
    );
    const imageList = JSON.parse((await runSandbox('list', '--json')).stdout) as { data: { id: string }[] };
    expect(imageList.data).toMatchObject([
      { names: ['greetings'], state: 'ready', packages: ['greeter 1.0.0'] },
    ]);
    for (const image of ['spec.json', 'greetings', imageList.data[0]!.id]) {
      const { stdout } = await runSandbox('run', 'a.js', '--image', image, '--input', '"you"', '--json');
      expect(JSON.parse(stdout)).toMatchObject({ ok: true, value: 'Hello you!' });
    }
    expect((await runSandbox('list')).stdout).toMatch(/^id .*\n[0-9a-f]{12} {2}greetings {2}ready/);
  });

  it('deletes unused images after a build', async () => {
    const { cwd, runSandbox } = await createSandboxFolder({ 'spec.json': JSON.stringify(SPEC) });
    const file = await storeUnusedImage(join(cwd, '.heddle/images'));
    expect(await runSandbox('build', 'spec.json')).toMatchObject({ exitCode: 0 });
    expect(existsSync(file)).toBe(false);
    expect((await runSandbox('list')).stdout).toContain('greetings');
  });

  it('reports why a build failed, and exits with 1', async () => {
    const spec = { ...SPEC, dependencies: ['ghost'] };
    const { runSandbox } = await createSandboxFolder({
      'spec.json': JSON.stringify(spec),
      'a.js': 'return 1',
    });
    const buildResult = await runSandbox('build', 'spec.json', '--json');
    expect(buildResult.exitCode).toBe(1);
    expect(JSON.parse(buildResult.stdout)).toMatchObject({
      data: { state: 'failed', errorCode: 'package_not_found' },
    });
    const result = await runSandbox('run', 'a.js', '--image', 'spec.json', '--json');
    expect(JSON.parse(result.stdout)).toMatchObject({ ok: false, error: { code: 'IMAGE_FAILED' } });
  });

  it('lists all problems of a spec, and exits with 2', async () => {
    const spec = { language: 'javascript', dependencies: ['fine', '--flag', 'https://example.com/x'] };
    const { runSandbox } = await createSandboxFolder({ 'spec.json': JSON.stringify(spec) });
    const { exitCode, stderr } = await runSandbox('build', 'spec.json');
    expect(exitCode).toBe(2);
    expect(stderr).toMatch(/dependencies\[1\] "--flag".*\n.*dependencies\[2\] "https:/);
  });
});

describe('heddle sandbox log', () => {
  it('prints the whole log of a failed and of a successful build, without tokens', async () => {
    const spec = { ...SPEC, name: 'broken', dependencies: ['ghost'] };
    const { cwd, runSandbox } = await createSandboxFolder({
      'bad.json': JSON.stringify(spec),
      'good.json': JSON.stringify(SPEC),
      '.npmrc': '//registry.test/:_authToken=token-of-the-test\n',
    });
    await runSandbox('build', 'bad.json');
    await runSandbox('build', 'good.json');
    const badResult = await runSandbox('log', 'broken');
    expect(badResult).toMatchObject({ exitCode: 0, stderr: '' });
    expect(badResult.stdout).toMatch(/^== resolving\n[\s\S]*E404[\s\S]*\npackage_not_found: .*ghost/);
    expect(badResult.stdout).not.toContain('token-of-the-test');
    const goodResult = await runSandbox('log', 'greetings', '--json');
    expect(JSON.parse(goodResult.stdout)).toMatchObject({
      data: { state: 'ready', log: expect.stringMatching(/== resolving[\s\S]*== publishing$/) as string },
    });
    // The state after an upgrade from a version that stored no logs.
    const database = new DatabaseSync(join(cwd, '.heddle/images/images.db'));
    database.exec('DELETE FROM build_logs');
    database.close();
    expect(await runSandbox('log', 'greetings')).toMatchObject({
      exitCode: 1,
      stdout: '',
      stderr: 'The image is ready, and no log of a build is stored.\n',
    });
    const resultWithoutLog = await runSandbox('log', 'greetings', '--json');
    expect([resultWithoutLog.exitCode, JSON.parse(resultWithoutLog.stdout)]).toMatchObject([
      1,
      { data: { log: null } },
    ]);
  });

  it('prints the log of a sandbox of a workspace while the server runs', async () => {
    const { cwd, registry } = await createSandboxFolder({});
    const options = { cwd, env: { npm_config_registry: registry.url, npm_config_fetch_retries: '0' } };
    const server = await startHeddleServe(['--data', 'data'], options);
    const { url, workspaceId, key } = server;
    const endpoint = `${url}/api/v2/sandboxes`;
    const headers = { 'X-API-Key': key, 'Content-Type': 'application/json' };
    const createSandbox = async (name: string, dependencies: string[]): Promise<string> => {
      const body = JSON.stringify({ workspaceId, name, language: 'javascript', dependencies });
      const { data } = (await (await fetch(endpoint, { method: 'POST', headers, body })).json()) as {
        data: { id: string };
      };
      return data.id;
    };
    const [failingSandboxId, emptySandboxId] = [
      await createSandbox('failing', ['ghost']),
      await createSandbox('empty', []),
    ];
    const readState = async (): Promise<string | null> => {
      const response = await fetch(`${endpoint}/${failingSandboxId}?workspaceId=${workspaceId}`, { headers });
      return ((await response.json()) as { data: { buildStatus: string } }).data.buildStatus;
    };
    await expect.poll(readState, { timeout: 60_000, interval: 100 }).toBe('failed');
    const runLogCommand = (id: string) => runHeddle(['sandbox', 'log', id, '--data', 'data'], options);
    expect(await runLogCommand(failingSandboxId)).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(/^== resolving\n[\s\S]*\npackage_not_found: /) as string,
    });
    expect(await runLogCommand(emptySandboxId)).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('no packages') as string,
    });
    expect(await runLogCommand(crypto.randomUUID())).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('There is no sandbox') as string,
    });
    server.process.child.kill('SIGTERM');
    await server.process.result;
  });

  it('names the unknown image, sandbox or folder', async () => {
    const { runSandbox } = await createSandboxFolder({});
    const unknownResult = await runSandbox('log', 'nothing');
    expect(unknownResult).toMatchObject({ exitCode: 2, stdout: '' });
    expect(unknownResult.stderr).toContain('There is no image "nothing" in');
    const noDataResult = await runSandbox('log', crypto.randomUUID());
    expect(noDataResult).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('no data folder') as string,
    });
  });
});
