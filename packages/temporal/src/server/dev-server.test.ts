import { once } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { startDevServer } from './dev-server.ts';

/** A port below the range from which systems assign ports, on which nothing listens. */
const PORT = 24_017;

let folder = '';

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'heddle-dev-server-'));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Returns a fake server command that logs its arguments, one per line, and runs `body`. */
function createCommand(body: string): string {
  const file = join(folder, 'temporal');
  writeFileSync(file, `#!/bin/sh\nprintf '%s\\n' "$@" '' >> "${folder}/arguments"\n${body}\n`);
  chmodSync(file, 0o755);
  return file;
}

/** Returns the arguments of each start. */
const readStartArgs = (): string[][] =>
  readFileSync(join(folder, 'arguments'), 'utf8')
    .split('\n\n')
    .slice(0, -1)
    .map((lines) => lines.split('\n'));

describe('startDevServer', () => {
  it('passes the namespace, the loopback address and the raised poll limits', async () => {
    await startDevServer({ binary: createCommand('exit 1'), namespace: 'loom', port: PORT });
    expect(readStartArgs()).toEqual([
      [
        ...[
          'server',
          'start-dev',
          '--ip',
          '127.0.0.1',
          '--port',
          String(PORT),
          '--namespace',
          'loom',
          '--headless',
        ],
        ...['--dynamic-config-value', 'history.transferProcessorMaxPollRPS=10000'],
        ...['--dynamic-config-value', 'history.timerProcessorMaxPollRPS=10000'],
      ],
    ]);
  });

  it('passes the database file, the UI port and the search attributes', async () => {
    const dbFile = join(folder, 'data/temporal.db');
    const searchAttributes = { Status: 'Keyword', Count: 'Int' } as const;
    await startDevServer({
      binary: createCommand('exit 1'),
      namespace: 'loom',
      uiPort: 4001,
      dbFile,
      searchAttributes,
    });
    const [args] = readStartArgs();
    expect(args).not.toContain('--headless');
    expect(args?.join(' ')).toContain(
      `--ui-port 4001 --db-filename ${dbFile} --sqlite-pragma journal_mode=WAL --search-attribute Status=Keyword --search-attribute Count=Int`,
    );
  });

  it('reports the exit and the last output of a server that did not start', async () => {
    const binary = createCommand('echo "level=ERROR out of memory" >&2; exit 7');
    expect(await startDevServer({ binary, namespace: 'loom', port: PORT })).toEqual({
      kind: 'failed',
      reason: `${binary} did not start on 127.0.0.1:${PORT}: it ended with exit code 7. Its last output: level=ERROR out of memory`,
    });
  });

  it('appends the output to the log file', async () => {
    const logFile = join(folder, 'logs/server.log');
    const binary = createCommand('echo one line; exit 1');
    const options = { binary, namespace: 'loom', port: PORT, logFile };
    await startDevServer(options);
    await startDevServer(options);
    expect(readFileSync(logFile, 'utf8')).toBe('one line\none line\n');
  });

  it('stops a server that does not become ready in time', async () => {
    const binary = createCommand('exec sleep 600');
    const result = await startDevServer({ binary, namespace: 'loom', readyTimeoutMs: 100 });
    expect(result).toEqual({
      kind: 'failed',
      reason: expect.stringMatching(/after 0\.1 s nothing listens there\. Its last output: \(no output\)$/),
    });
  });

  it('refuses a port in use, because the other process would be mistaken for the server', async () => {
    const otherServer = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1');
    onTestFinished(() => void otherServer.close());
    await once(otherServer, 'listening');
    const { port } = otherServer.address() as AddressInfo;
    expect(await startDevServer({ binary: '/nowhere/temporal', namespace: 'loom', port })).toEqual({
      kind: 'failed',
      reason: `127.0.0.1:${port}: address already in use. Use another port.`,
    });
  });

  it('retries with another free port, but not if the options have a port', async () => {
    const binary = createCommand('echo "bind: address already in use"; exit 1');
    await startDevServer({ binary, namespace: 'loom', port: PORT });
    expect(readStartArgs()).toHaveLength(1);
    await startDevServer({ binary, namespace: 'loom' });
    expect(readStartArgs()).toHaveLength(4);
    expect(new Set(readStartArgs().map((args) => args[5])).size).toBeGreaterThan(1);
  });
});
