import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { findServer, type FindOptions, type FoundServer } from './find.ts';

let folder = '';

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'heddle-find-'));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

const temporalScript = (serverVersion: string): string =>
  `echo "temporal version 1.0.0 (Server ${serverVersion}, UI 2.0.0)"`;

/** Creates a shell script at `path` in the test's folder. Returns its absolute path. */
function createScript(path: string, body: string): string {
  const file = join(folder, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `#!/bin/sh\n${body}\n`);
  chmodSync(file, 0o755);
  return file;
}

const CACHED_BINARY_PATH = 'cache/heddle/temporal/v1.3.0/temporal';

/** Creates a `go` that runs `setup`, logs its call to the file `built`, and builds a command with server 3.0.0. */
function createFakeGo(setup = ''): void {
  createScript(
    'bin/go',
    `${setup}
     echo "$*" >> "${folder}/built"
     mkdir -p "$GOBIN" && cp "${createScript('made', temporalScript('3.0.0'))}" "$GOBIN/temporal"`,
  );
}

const readBuildCalls = (): string[] =>
  existsSync(join(folder, 'built')) ? readFileSync(join(folder, 'built'), 'utf8').trim().split('\n') : [];

const messages: string[] = [];

/** Searches only the test's folder, not the machine or the network. */
async function find(options: Partial<FindOptions> = {}): Promise<FoundServer> {
  messages.length = 0;
  return findServer({
    log: (line) => messages.push(line),
    downloadServiceUrl: 'http://127.0.0.1:9',
    ...options,
    env: {
      PATH: `${join(folder, 'bin')}:/usr/bin:/bin`,
      XDG_CACHE_HOME: join(folder, 'cache'),
      ...options.env,
    },
  });
}

describe('the order of the sources', () => {
  it('an address comes first', async () => {
    createScript('bin/temporal', temporalScript('1.0.0'));
    const env = { TEMPORAL_ADDRESS: 'temporal.example:7233', TEMPORAL_CLI: '/bin/false' };
    expect(await find({ env })).toEqual({ kind: 'address', address: 'temporal.example:7233' });
  });

  it('TEMPORAL_CLI comes before PATH', async () => {
    createScript('bin/temporal', temporalScript('1.0.0'));
    const path = createScript('mine', temporalScript('2.0.0'));
    expect(await find({ env: { TEMPORAL_CLI: path } })).toEqual({
      kind: 'binary',
      binary: { path, serverVersion: '2.0.0' },
      source: 'TEMPORAL_CLI',
    });
  });

  it('TEMPORAL_CLI without a folder is looked up on PATH', async () => {
    const path = createScript('bin/temporal-next', temporalScript('2.0.0'));
    expect(await find({ env: { TEMPORAL_CLI: 'temporal-next' } })).toMatchObject({ binary: { path } });
  });

  it('the command on PATH comes before the cache', async () => {
    const path = createScript('bin/temporal', temporalScript('1.0.0'));
    createScript(CACHED_BINARY_PATH, temporalScript('2.0.0'));
    expect(await find()).toMatchObject({ source: 'PATH', binary: { path } });
  });

  it('the cache comes before a build', async () => {
    createFakeGo();
    const path = createScript(CACHED_BINARY_PATH, temporalScript('2.0.0'));
    expect(await find()).toMatchObject({ source: 'cache', binary: { path } });
    expect(readBuildCalls()).toEqual([]);
  });

  it('a build comes before the download, and fills the cache', async () => {
    createFakeGo();
    const path = join(folder, CACHED_BINARY_PATH);
    expect(await find()).toEqual({ kind: 'binary', source: 'go', binary: { path, serverVersion: '3.0.0' } });
    expect(await find()).toMatchObject({ source: 'cache' });
    expect(readBuildCalls()).toEqual([
      'install -ldflags=-s -w github.com/temporalio/cli/cmd/temporal@v1.3.0',
    ]);
  });

  it('without XDG_CACHE_HOME the cache is in the home folder', async () => {
    const path = createScript(`home/.${CACHED_BINARY_PATH}`, temporalScript('2.0.0'));
    const env = { XDG_CACHE_HOME: undefined, HOME: join(folder, 'home') };
    expect(await find({ env })).toMatchObject({ source: 'cache', binary: { path } });
  });

  it('tries only the sources of the options', async () => {
    createFakeGo();
    const result = await find({ sources: ['PATH', 'cache'] });
    expect(result).toEqual({ kind: 'none', reason: expect.not.stringMatching(/go:|download:/) });
    expect(readBuildCalls()).toEqual([]);
  });
});

describe('an invalid variable', () => {
  it.each([
    ['TEMPORAL_ADDRESS', 'temporal.example', '"temporal.example" is not of the form host:port'],
    ['TEMPORAL_ADDRESS', 'https://temporal.example:7233', 'is not of the form host:port'],
    ['TEMPORAL_CLI', '/nowhere/temporal', '/nowhere/temporal: spawn /nowhere/temporal ENOENT'],
    ['TEMPORAL_CLI', 'temporal-next', 'temporal-next is not on PATH'],
    ['TEMPORAL_CLI', '/bin/echo', "/bin/echo is not Temporal's command"],
  ])('%s=%s ends the search', async (name, value, reason) => {
    createScript('bin/temporal', temporalScript('1.0.0'));
    expect(await find({ env: { [name]: value } })).toEqual({
      kind: 'none',
      reason: expect.stringContaining(reason),
    });
  });
});

describe('a source that does not work', () => {
  it('a broken command on PATH is skipped', async () => {
    createScript('bin/temporal', 'echo no library >&2; exit 127');
    createScript(CACHED_BINARY_PATH, temporalScript('2.0.0'));
    expect(await find()).toMatchObject({ source: 'cache' });
  });

  it('a broken command in the cache is rebuilt', async () => {
    createScript(CACHED_BINARY_PATH, 'exit 1');
    createFakeGo();
    expect(await find()).toMatchObject({ source: 'go', binary: { serverVersion: '3.0.0' } });
  });

  it('leftovers of a killed build are not used', async () => {
    createScript('cache/heddle/temporal/v1.3.0/making/bin/temporal', temporalScript('1.0.0'));
    createFakeGo('test ! -e "$GOBIN" || exit 9');
    expect(await find()).toMatchObject({ source: 'go', binary: { serverVersion: '3.0.0' } });
  });

  it('the reason names each source with its problem, and a hint', async () => {
    createScript('bin/temporal', 'echo no library >&2; exit 127');
    createScript('bin/go', 'echo downloading; echo no network >&2; exit 1');
    const { reason } = (await find()) as { reason: string };
    expect(reason).toMatch(/^No Temporal server found\. TEMPORAL_ADDRESS: not set; TEMPORAL_CLI: not set; /);
    expect(reason).toMatch(
      /PATH: .*temporal --version failed with 127: no library; cache: .*v1\.3\.0.* does not exist yet/,
    );
    expect(reason).toMatch(/go: .*go install failed with 1: no network; download: fetch failed: .*\. Set /);
    expect(reason).toMatch(/Set TEMPORAL_ADDRESS to the host:port .* or TEMPORAL_CLI/);
  });

  it('the reason says that go is missing', async () => {
    const env = { PATH: join(folder, 'bin') };
    expect(await find({ env })).toMatchObject({ reason: expect.stringContaining('go is not on PATH') });
  });

  it('the reason names an unusable cache folder', async () => {
    createFakeGo();
    writeFileSync(join(folder, 'cache'), '');
    const result = await find();
    expect(result).toMatchObject({
      reason: expect.stringMatching(/cannot use the cache folder .*ENOTDIR/),
    });
  });
});

describe('a build', () => {
  it('is announced with its duration', async () => {
    createFakeGo();
    await find();
    expect(messages[0]).toMatch(/^No Temporal server found: building v1\.3\.0 with .*go\. .*3 to 5 minutes/);
  });

  it('targets this machine, even if go is configured for another target', async () => {
    createFakeGo(`test -z "$GOOS$GOARCH$GOFLAGS" || { echo "$GOOS $GOARCH $GOFLAGS" >&2; exit 1; }`);
    const env = { GOOS: 'plan9', GOARCH: 'mips', GOFLAGS: '-mod=vendor' };
    expect(await find({ env })).toMatchObject({ source: 'go' });
  });

  it('runs once for several concurrent searches', async () => {
    // The first search waits until the second one waits for it.
    createFakeGo(`while [ ! -e "${folder}/waiting" ]; do sleep 0.05; done`);
    const log = (line: string): void => {
      if (line.startsWith('Waiting for another process')) writeFileSync(join(folder, 'waiting'), '');
    };
    const results = await Promise.all([find({ log }), find({ log })]);
    expect(results).toEqual([
      expect.objectContaining({ kind: 'binary', source: 'go' }),
      expect.objectContaining({ kind: 'binary', source: 'go' }),
    ]);
    expect(readBuildCalls()).toHaveLength(1);
  });
});

describe('a download', () => {
  /** Starts a service that returns `reply` and serves `archive`. Returns its URL and its requests. */
  async function startService(reply: object, archive?: Buffer): Promise<{ url: string; requests: string[] }> {
    const requests: string[] = [];
    const server = createServer((request, response) => {
      requests.push(request.url ?? '');
      response.end(request.url === '/archive' ? archive : JSON.stringify(reply));
    }).listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
  }

  it('requests the archive of this platform, and unpacks the command into the cache', async () => {
    createScript('packed/temporal', temporalScript('4.0.0'));
    execFileSync('tar', ['-czf', join(folder, 'a.tar.gz'), '-C', join(folder, 'packed'), 'temporal']);
    const reply = { archiveUrl: '', fileToExtract: 'temporal' };
    const { url, requests } = await startService(reply, readFileSync(join(folder, 'a.tar.gz')));
    reply.archiveUrl = `${url}/archive`;
    const path = join(folder, CACHED_BINARY_PATH);
    expect(await find({ sources: ['download'], downloadServiceUrl: url })).toEqual({
      kind: 'binary',
      source: 'download',
      binary: { path, serverVersion: '4.0.0' },
    });
    expect(requests[0]).toMatch(/^\/cli\/v1\.3\.0\?arch=(amd64|arm64)&platform=\w+&format=tar\.gz$/);
  });

  it.each([
    [{}, 'returned no valid archive'],
    [{ archiveUrl: 'http://127.0.0.1:9/a', fileToExtract: '../temporal' }, 'no valid archive'],
    [{ archiveUrl: 'http://127.0.0.1:9/a', fileToExtract: '/bin/temporal' }, 'no valid archive'],
  ])('rejects the reply %j', async (reply, reason) => {
    const { url } = await startService(reply);
    expect(await find({ sources: ['download'], downloadServiceUrl: url })).toEqual({
      kind: 'none',
      reason: expect.stringContaining(reason),
    });
  });

  it('leaves nothing in the cache if the archive is broken', async () => {
    const reply = { archiveUrl: '', fileToExtract: 'temporal' };
    const { url } = await startService(reply, Buffer.from('no archive'));
    reply.archiveUrl = `${url}/archive`;
    const result = await find({ sources: ['download'], downloadServiceUrl: url });
    expect(result).toMatchObject({ kind: 'none', reason: expect.stringMatching(/tar -xzf failed with/) });
    expect(existsSync(join(folder, CACHED_BINARY_PATH))).toBe(false);
  });
});
