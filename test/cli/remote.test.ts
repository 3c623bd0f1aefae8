import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createDataFolder } from '../support/data-folder.ts';
import { runHeddle, startHeddleServe } from '../support/heddle.ts';
import { code, start, workflowFile } from '../support/workflow-file.ts';
import { repositoryFolder } from '../repo/sources.ts';

const GREET_WORKFLOW = workflowFile({
  blocks: {
    s: start({ fields: { inputFormat: [{ id: 'n', name: 'name', type: 'string' }] } }),
    hello: code('return "Hello, " + <start.name>', { name: 'Hello' }),
  },
  edges: ['s > hello'],
});

/** Starts a server. `run` runs commands with the first key of the server. */
async function startServer(serveArgs: string[] = []) {
  const cwd = createDataFolder();
  writeFileSync(join(cwd, 'greet.json'), JSON.stringify(GREET_WORKFLOW));
  const { url, workspaceId, key } = await startHeddleServe(['--grace', '1', ...serveArgs], { cwd });
  const env = { HEDDLE_URL: url, HEDDLE_WORKSPACE: workspaceId, HEDDLE_API_KEY: key };
  const run = (args: string[], extraEnv: { [name: string]: string } = {}, input = '') =>
    runHeddle(args, { cwd, env: { ...env, ...extraEnv }, input });
  return { cwd, env, run };
}

describe('heddle deploy and heddle execute', { timeout: 120_000 }, () => {
  it('deploy a file, and execute it at the printed URL', async () => {
    const { run, env } = await startServer();
    const firstResult = await run(['deploy', 'greet.json']);
    expect({ exitCode: firstResult.exitCode, stderr: firstResult.stderr }).toEqual({
      exitCode: 0,
      stderr: '',
    });
    expect(firstResult.stdout).toMatch(/^✓ greet is deployed, version 1\n/);
    const [url = ''] = /http\S+\/execute/.exec(firstResult.stdout) ?? [];
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'X-API-Key': env.HEDDLE_API_KEY, 'Content-Type': 'application/json' },
      body: '{"input": {"name": "Ada"}}',
    });
    expect(await response.json()).toMatchObject({ data: { output: { result: 'Hello, Ada' } } });
    const result = await run(['execute', 'greet', '--input', '{"name": "Bo"}']);
    expect(result.exitCode).toBe(0);
    expect(JSON.parse(result.stdout)).toMatchObject({ result: 'Hello, Bo' });
    expect(result.stderr).toMatch(/^✓ completed in /);
  });

  it('deploy a file with the values of --set and --bindings', async () => {
    const { run, cwd } = await startServer();
    writeFileSync(join(cwd, 'values.json'), '{"hello": {"code": "return 1"}}');
    const fieldArgs = ['--bindings', 'values.json', '--set', 'Hello.code="return \'Hej, \' + <start.name>"'];
    expect((await run(['deploy', 'greet.json', ...fieldArgs])).exitCode).toBe(0);
    const result = await run(['execute', 'greet', '--input', '{"name": "Bo"}']);
    expect(JSON.parse(result.stdout)).toMatchObject({ result: 'Hej, Bo' });
    const refusedResult = await run(['deploy', 'greet.json', '--set', 'Helo.code="x"']);
    expect(refusedResult).toMatchObject({ exitCode: 2, stdout: '' });
    expect(refusedResult.stderr).toContain('Did you mean "Hello"?');
  });

  it('deploy with --compat only to a server with --compat, and the refusal of another server names the option', async () => {
    const oldWorkflow = workflowFile({
      blocks: { s: start(), end: code('return <strat.n>') },
      edges: ['s > end'],
    });
    for (const serveArgs of [[], ['--compat']]) {
      const { run, cwd } = await startServer(serveArgs);
      writeFileSync(join(cwd, 'old.json'), JSON.stringify(oldWorkflow));
      const isCompat = serveArgs.length > 0;
      const { exitCode, stderr } = await run(['deploy', 'old.json', '--compat']);
      expect(exitCode).toBe(isCompat ? 0 : 2);
      expect(stderr).toContain('strat');
      expect(stderr.includes('The server runs without --compat')).toBe(!isCompat);
    }
  });

  it('deploy a new version of the workflow with the same name, even from standard input', async () => {
    const { run } = await startServer();
    const firstResult = await run(['deploy', 'greet.json', '--json']);
    const changedWorkflow = JSON.stringify(GREET_WORKFLOW).replace('Hello, ', 'Hi, ');
    const secondResult = await run(['deploy', '-', '--name', 'greet', '--json'], {}, changedWorkflow);
    const [firstData, secondData] = [firstResult, secondResult].map(
      ({ stdout }) => (JSON.parse(stdout) as { data: object }).data,
    );
    expect(secondData).toEqual({ ...firstData, version: 2 });
    const result = await run([
      'execute',
      'greet',
      '--input',
      '{"name": "Bo"}',
      '--json',
      '--select',
      'Hello.result',
    ]);
    expect(JSON.parse(result.stdout)).toMatchObject({
      data: { status: 'completed', blockOutputs: { 'Hello.result': 'Hi, Bo' } },
    });
    const acceptedResult = await run(['execute', 'greet', '--async']);
    expect(acceptedResult).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^[0-9a-f-]{36}\n$/) });
  });

  it('add a suffix to block ids that another workflow of the server uses', async () => {
    const { cwd, run } = await startServer();
    for (const name of ['nested-batches.json', 'order-triage.json']) {
      cpSync(join(repositoryFolder, 'examples', name), join(cwd, name));
      expect(await run(['deploy', name])).toMatchObject({ exitCode: 0 });
      expect(await run(['deploy', name])).toMatchObject({
        exitCode: 0,
        stdout: expect.stringContaining('version 2'),
      });
    }
    const inputArgs = ['--input', '{"country": "CH"}'];
    const localResult = await runHeddle(['run', 'order-triage.json', '--data', 'own', ...inputArgs], { cwd });
    const remoteResult = await run(['execute', 'Order triage', ...inputArgs]);
    expect({ exitCode: remoteResult.exitCode, output: JSON.parse(remoteResult.stdout) as unknown }).toEqual({
      exitCode: localResult.exitCode,
      output: JSON.parse(localResult.stdout) as unknown,
    });
  });

  it('exit with the same codes as heddle run if the run fails or waits for a person', async () => {
    const { cwd, run } = await startServer();
    const failingWorkflow = workflowFile({
      blocks: { s: start(), bad: code('throw new Error("no")') },
      edges: ['s > bad'],
    });
    const askingWorkflow = workflowFile({
      blocks: { s: start(), ask: { type: 'human_in_the_loop', name: 'Ask' } },
      edges: ['s > ask'],
    });
    writeFileSync(join(cwd, 'bad.json'), JSON.stringify(failingWorkflow));
    writeFileSync(join(cwd, 'ask.json'), JSON.stringify(askingWorkflow));
    for (const [name, exitCode] of [
      ['bad', 1],
      ['ask', 3],
    ] as const) {
      await run(['deploy', `${name}.json`, '--name', name]);
      expect((await run(['execute', name])).exitCode).toBe(exitCode);
    }
  });

  it('report missing and invalid settings', async () => {
    const { run, cwd } = await startServer();
    const runInvalidCommand = async (args: string[], env: { [name: string]: string } = {}) => {
      const { exitCode, stdout, stderr } = await run(args, env);
      expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
      return stderr;
    };
    expect(await runInvalidCommand(['execute', 'Greet!'])).toContain('has no workflow "Greet!"');
    expect(await runInvalidCommand(['deploy', 'greet.json'], { HEDDLE_API_KEY: '' })).toContain(
      'HEDDLE_API_KEY is not set',
    );
    expect(await runInvalidCommand(['deploy', 'greet.json'], { HEDDLE_WORKSPACE: '' })).toContain(
      'heddle workspaces list',
    );
    expect(await runInvalidCommand(['deploy', 'greet.json'], { HEDDLE_API_KEY: 'sk-heddle-x' })).toContain(
      'heddle keys create',
    );
    expect(await runInvalidCommand(['deploy', 'greet.json', '--url', 'ftp://x'])).toContain(
      'ftp://x is not the URL',
    );
    expect(await runInvalidCommand(['deploy', 'greet.json', '--url', 'http://127.0.0.1:9'])).toContain(
      'heddle serve',
    );
    writeFileSync(join(cwd, 'broken.json'), '{');
    expect(await runInvalidCommand(['deploy', 'broken.json'])).toContain('JSON_INVALID');
    const { stdout } = await runHeddle(['keys', 'create', '--workspace'], { cwd });
    expect(await runInvalidCommand(['deploy', 'greet.json'], { HEDDLE_API_KEY: stdout.trim() })).toContain(
      'a personal key',
    );
  });
});
