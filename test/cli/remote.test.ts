import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { dataFolder } from '../support/data-folder.ts';
import { heddle, startServe } from '../support/heddle.ts';
import { code, start, workflowFile } from '../support/workflow-file.ts';
import { repository } from '../repo/sources.ts';

const GREET = workflowFile({
  blocks: {
    s: start({ fields: { inputFormat: [{ id: 'n', name: 'name', type: 'string' }] } }),
    hello: code('return "Hello, " + <start.name>', { name: 'Hello' }),
  },
  edges: ['s > hello'],
});

/** Starts a server. `run` runs commands with the first key of the server. */
async function startServer(serveArgs: string[] = []) {
  const cwd = dataFolder();
  writeFileSync(join(cwd, 'greet.json'), JSON.stringify(GREET));
  const { url, workspaceId, key } = await startServe(['--grace', '1', ...serveArgs], { cwd });
  const env = { HEDDLE_URL: url, HEDDLE_WORKSPACE: workspaceId, HEDDLE_API_KEY: key };
  const run = (args: string[], extraEnv: { [name: string]: string } = {}, input = '') =>
    heddle(args, { cwd, env: { ...env, ...extraEnv }, input });
  return { cwd, env, run };
}

describe('heddle deploy and heddle execute', { timeout: 120_000 }, () => {
  it('deploy a file, and execute it at the printed URL', async () => {
    const { run, env } = await startServer();
    const first = await run(['deploy', 'greet.json']);
    expect({ exit: first.exit, stderr: first.stderr }).toEqual({ exit: 0, stderr: '' });
    expect(first.stdout).toMatch(/^✓ greet is deployed, version 1\n/);
    const [url = ''] = /http\S+\/execute/.exec(first.stdout) ?? [];
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'X-API-Key': env.HEDDLE_API_KEY, 'Content-Type': 'application/json' },
      body: '{"input": {"name": "Ada"}}',
    });
    expect(await response.json()).toMatchObject({ data: { output: { result: 'Hello, Ada' } } });
    const result = await run(['execute', 'greet', '--input', '{"name": "Bo"}']);
    expect(result.exit).toBe(0);
    expect(JSON.parse(result.stdout)).toMatchObject({ result: 'Hello, Bo' });
    expect(result.stderr).toMatch(/^✓ completed in /);
  });

  it('deploy a file with the values of --set and --bindings', async () => {
    const { run, cwd } = await startServer();
    writeFileSync(join(cwd, 'values.json'), '{"hello": {"code": "return 1"}}');
    const fields = ['--bindings', 'values.json', '--set', 'Hello.code="return \'Hej, \' + <start.name>"'];
    expect((await run(['deploy', 'greet.json', ...fields])).exit).toBe(0);
    const result = await run(['execute', 'greet', '--input', '{"name": "Bo"}']);
    expect(JSON.parse(result.stdout)).toMatchObject({ result: 'Hej, Bo' });
    const refused = await run(['deploy', 'greet.json', '--set', 'Helo.code="x"']);
    expect(refused).toMatchObject({ exit: 2, stdout: '' });
    expect(refused.stderr).toContain('Did you mean "Hello"?');
  });

  it('deploy with --compat only to a server with --compat, and the refusal of another server names the option', async () => {
    const old = workflowFile({
      blocks: { s: start(), end: code('return <strat.n>') },
      edges: ['s > end'],
    });
    for (const serveArgs of [[], ['--compat']]) {
      const { run, cwd } = await startServer(serveArgs);
      writeFileSync(join(cwd, 'old.json'), JSON.stringify(old));
      const isCompat = serveArgs.length > 0;
      const { exit, stderr } = await run(['deploy', 'old.json', '--compat']);
      expect(exit).toBe(isCompat ? 0 : 2);
      expect(stderr).toContain('strat');
      expect(stderr.includes('The server runs without --compat')).toBe(!isCompat);
    }
  });

  it('deploy a new version of the workflow with the same name, even from standard input', async () => {
    const { run } = await startServer();
    const first = await run(['deploy', 'greet.json', '--json']);
    const changed = JSON.stringify(GREET).replace('Hello, ', 'Hi, ');
    const second = await run(['deploy', '-', '--name', 'greet', '--json'], {}, changed);
    const [firstData, secondData] = [first, second].map(
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
    const accepted = await run(['execute', 'greet', '--async']);
    expect(accepted).toMatchObject({ exit: 0, stdout: expect.stringMatching(/^[0-9a-f-]{36}\n$/) });
  });

  it('add a suffix to block ids that another workflow of the server uses', async () => {
    const { cwd, run } = await startServer();
    for (const name of ['nested-batches.json', 'order-triage.json']) {
      cpSync(join(repository, 'examples', name), join(cwd, name));
      expect(await run(['deploy', name])).toMatchObject({ exit: 0 });
      expect(await run(['deploy', name])).toMatchObject({
        exit: 0,
        stdout: expect.stringContaining('version 2'),
      });
    }
    const input = ['--input', '{"country": "CH"}'];
    const local = await heddle(['run', 'order-triage.json', '--data', 'own', ...input], { cwd });
    const remote = await run(['execute', 'Order triage', ...input]);
    expect({ exit: remote.exit, output: JSON.parse(remote.stdout) as unknown }).toEqual({
      exit: local.exit,
      output: JSON.parse(local.stdout) as unknown,
    });
  });

  it('exit with the same codes as heddle run if the run fails or waits for a person', async () => {
    const { cwd, run } = await startServer();
    const bad = workflowFile({
      blocks: { s: start(), bad: code('throw new Error("no")') },
      edges: ['s > bad'],
    });
    const ask = workflowFile({
      blocks: { s: start(), ask: { type: 'human_in_the_loop', name: 'Ask' } },
      edges: ['s > ask'],
    });
    writeFileSync(join(cwd, 'bad.json'), JSON.stringify(bad));
    writeFileSync(join(cwd, 'ask.json'), JSON.stringify(ask));
    for (const [name, exit] of [
      ['bad', 1],
      ['ask', 3],
    ] as const) {
      await run(['deploy', `${name}.json`, '--name', name]);
      expect((await run(['execute', name])).exit).toBe(exit);
    }
  });

  it('report missing and invalid settings', async () => {
    const { run, cwd } = await startServer();
    const errorOf = async (args: string[], env: { [name: string]: string } = {}) => {
      const { exit, stdout, stderr } = await run(args, env);
      expect({ exit, stdout }).toEqual({ exit: 2, stdout: '' });
      return stderr;
    };
    expect(await errorOf(['execute', 'Greet!'])).toContain('has no workflow "Greet!"');
    expect(await errorOf(['deploy', 'greet.json'], { HEDDLE_API_KEY: '' })).toContain(
      'HEDDLE_API_KEY is not set',
    );
    expect(await errorOf(['deploy', 'greet.json'], { HEDDLE_WORKSPACE: '' })).toContain(
      'heddle workspaces list',
    );
    expect(await errorOf(['deploy', 'greet.json'], { HEDDLE_API_KEY: 'sk-heddle-x' })).toContain(
      'heddle keys create',
    );
    expect(await errorOf(['deploy', 'greet.json', '--url', 'ftp://x'])).toContain('ftp://x is not the URL');
    expect(await errorOf(['deploy', 'greet.json', '--url', 'http://127.0.0.1:9'])).toContain('heddle serve');
    writeFileSync(join(cwd, 'broken.json'), '{');
    expect(await errorOf(['deploy', 'broken.json'])).toContain('JSON_INVALID');
    const { stdout } = await heddle(['keys', 'create', '--workspace'], { cwd });
    expect(await errorOf(['deploy', 'greet.json'], { HEDDLE_API_KEY: stdout.trim() })).toContain(
      'a personal key',
    );
  });
});
