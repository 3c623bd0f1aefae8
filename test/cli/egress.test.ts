import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { runHeddle } from '../support/heddle.ts';
import { code, start } from '../support/workflow-file.ts';
import { createFlowFolder } from './flow.ts';

/** Starts a server on the loopback address, which is an internal address. Returns its port. */
async function startInternalServer(): Promise<number> {
  const server = createServer((_request, response) => response.end('inside'));
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

const createFolderWithApiBlock = (port: number): string =>
  createFlowFolder({
    blocks: { s: start(), call: { type: 'api', name: 'Call', fields: { url: `http://localhost:${port}/` } } },
    edges: ['s > call'],
  });

const createFolderWithFetch = (port: number): string =>
  createFlowFolder({
    blocks: { s: start(), get: code(`return (await fetch('http://localhost:${port}/')).text()`) },
    edges: ['s > get'],
  });

const run = (cwd: string, args: string[], env: { [name: string]: string } = {}) =>
  runHeddle(['run', 'flow.json', '--json', ...args], { cwd, env });

describe('requests from blocks to an internal network', { timeout: 60_000 }, () => {
  it.each([
    ['api blocks', createFolderWithApiBlock],
    ['code', createFolderWithFetch],
  ])('are denied to %s with a hint that names the option that allows them', async (_, createFolder) => {
    const port = await startInternalServer();
    const cwd = createFolder(port);
    const deniedResult = await run(cwd, []);
    expect(deniedResult.exitCode).toBe(1);
    const { data } = JSON.parse(deniedResult.stdout) as { data: { error: { message: string } } };
    expect(data.error.message).toContain(`use --allow-host localhost:${port} to allow it`);
    const allowedResult = await run(cwd, ['--allow-host', `localhost:${port}`]);
    expect({ exitCode: allowedResult.exitCode, stdout: allowedResult.stdout }).toEqual({
      exitCode: 0,
      stdout: expect.stringContaining('"inside"'),
    });
  });

  it('are allowed by an address range, by a wildcard port, and by HEDDLE_ALLOW_HOSTS', async () => {
    const port = await startInternalServer();
    const cwd = createFolderWithApiBlock(port);
    expect((await run(cwd, ['--allow-host', `127.0.0.0/8:${port}`])).exitCode).toBe(0);
    expect((await run(cwd, ['--allow-host', 'a.test', '--allow-host', 'localhost:*'])).exitCode).toBe(0);
    expect((await run(cwd, [], { HEDDLE_ALLOW_HOSTS: `a.test, localhost:${port}` })).exitCode).toBe(0);
    expect((await run(cwd, ['--allow-host', 'localhost'])).exitCode).toBe(1);
  });

  it('are denied by --deny-host, even if another option allows them', async () => {
    const port = await startInternalServer();
    const cwd = createFolderWithApiBlock(port);
    const allowArgs = ['--allow-host', 'localhost:*'];
    for (const deniedResult of [
      await run(cwd, [...allowArgs, '--deny-host', `localhost:${port}`]),
      await run(cwd, [...allowArgs, '--deny-host', '127.0.0.0/8']),
      await run(cwd, allowArgs, { HEDDLE_DENY_HOSTS: 'localhost' }),
    ]) {
      expect(deniedResult.exitCode).toBe(1);
      expect(deniedResult.stdout).toContain('denyHosts');
    }
  });

  it('are allowed by --allow-host in files that heddle sandbox run executes', async () => {
    const port = await startInternalServer();
    const cwd = createFlowFolder('{}');
    writeFileSync(join(cwd, 'get.js'), `return (await fetch('http://localhost:${port}/')).text()`);
    const runJs = (...options: string[]) => runHeddle(['sandbox', 'run', 'get.js', ...options], { cwd });
    expect((await runJs()).stderr).toContain(`use --allow-host localhost:${port} to allow it`);
    expect(await runJs('--allow-host', `localhost:${port}`)).toMatchObject({
      exitCode: 0,
      stdout: '"inside"\n',
    });
  });

  it.each(['run', 'serve', 'worker', 'dev'])(
    'are controlled by options of heddle %s, which refuses invalid hosts',
    async (command) => {
      const { stdout } = await runHeddle([command, '--help']);
      for (const option of ['--allow-host <host[:port]>', '--deny-host <host[:port]>'])
        expect(stdout).toContain(option);
      const cwd = createFolderWithApiBlock(1);
      const args =
        command === 'run' ? ['run', 'flow.json'] : [command, ...(command === 'serve' ? ['--port', '0'] : [])];
      // With an address, the command starts no server before it checks its options.
      const env = command === 'dev' ? { TEMPORAL_ADDRESS: '127.0.0.1:1' } : {};
      const invalidResult = await runHeddle([...args, '--allow-host', 'http://localhost'], { cwd, env });
      expect({ exitCode: invalidResult.exitCode, stdout: invalidResult.stdout }).toEqual({
        exitCode: 2,
        stdout: '',
      });
      expect(invalidResult.stderr).toContain('"http://localhost" is neither HOST[:PORT] nor CIDR[:PORT].');
    },
  );
});
