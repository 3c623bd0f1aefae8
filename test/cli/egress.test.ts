import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { heddle } from '../support/heddle.ts';
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
  heddle(['run', 'flow.json', '--json', ...args], { cwd, env });

describe('requests of blocks to an internal network', { timeout: 60_000 }, () => {
  it.each([
    ['api blocks', createFolderWithApiBlock],
    ['code', createFolderWithFetch],
  ])('are denied to %s with a hint that names the option that allows them', async (_, createFolder) => {
    const port = await startInternalServer();
    const cwd = createFolder(port);
    const denied = await run(cwd, []);
    expect(denied.exit).toBe(1);
    const { data } = JSON.parse(denied.stdout) as { data: { error: { message: string } } };
    expect(data.error.message).toContain(`use --allow-host localhost:${port} to allow it`);
    const allowed = await run(cwd, ['--allow-host', `localhost:${port}`]);
    expect({ exit: allowed.exit, stdout: allowed.stdout }).toEqual({
      exit: 0,
      stdout: expect.stringContaining('"inside"'),
    });
  });

  it('are allowed by an address range, by a wildcard port, and by HEDDLE_ALLOW_HOSTS', async () => {
    const port = await startInternalServer();
    const cwd = createFolderWithApiBlock(port);
    expect((await run(cwd, ['--allow-host', `127.0.0.0/8:${port}`])).exit).toBe(0);
    expect((await run(cwd, ['--allow-host', 'a.test', '--allow-host', 'localhost:*'])).exit).toBe(0);
    expect((await run(cwd, [], { HEDDLE_ALLOW_HOSTS: `a.test, localhost:${port}` })).exit).toBe(0);
    expect((await run(cwd, ['--allow-host', 'localhost'])).exit).toBe(1);
  });

  it('are denied by --deny-host, even if another option allows them', async () => {
    const port = await startInternalServer();
    const cwd = createFolderWithApiBlock(port);
    const allow = ['--allow-host', 'localhost:*'];
    for (const denied of [
      await run(cwd, [...allow, '--deny-host', `localhost:${port}`]),
      await run(cwd, [...allow, '--deny-host', '127.0.0.0/8']),
      await run(cwd, allow, { HEDDLE_DENY_HOSTS: 'localhost' }),
    ]) {
      expect(denied.exit).toBe(1);
      expect(denied.stdout).toContain('denyHosts');
    }
  });

  it('are allowed by --allow-host in files that heddle sandbox run executes', async () => {
    const port = await startInternalServer();
    const cwd = createFlowFolder('{}');
    writeFileSync(join(cwd, 'get.js'), `return (await fetch('http://localhost:${port}/')).text()`);
    const runJs = (...options: string[]) => heddle(['sandbox', 'run', 'get.js', ...options], { cwd });
    expect((await runJs()).stderr).toContain(`use --allow-host localhost:${port} to allow it`);
    expect(await runJs('--allow-host', `localhost:${port}`)).toMatchObject({ exit: 0, stdout: '"inside"\n' });
  });

  it.each(['run', 'serve', 'worker', 'dev'])(
    'are controlled by options of heddle %s, which refuses invalid hosts',
    async (command) => {
      const { stdout } = await heddle([command, '--help']);
      for (const option of ['--allow-host <host[:port]>', '--deny-host <host[:port]>'])
        expect(stdout).toContain(option);
      const cwd = createFolderWithApiBlock(1);
      const args =
        command === 'run' ? ['run', 'flow.json'] : [command, ...(command === 'serve' ? ['--port', '0'] : [])];
      // With an address, the command starts no server before it checks its options.
      const env = command === 'dev' ? { TEMPORAL_ADDRESS: '127.0.0.1:1' } : {};
      const invalid = await heddle([...args, '--allow-host', 'http://localhost'], { cwd, env });
      expect({ exit: invalid.exit, stdout: invalid.stdout }).toEqual({ exit: 2, stdout: '' });
      expect(invalid.stderr).toContain('"http://localhost" is neither HOST[:PORT] nor CIDR[:PORT].');
    },
  );
});
