import { existsSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { openServiceStore } from '@heddle/service';
import { describe, expect, onTestFinished } from 'vitest';
import { draftOf } from '../support/api.ts';
import { ECHO, FILE } from '../support/api-files.ts';
import { dataFolder } from '../support/data-folder.ts';
import { heddle, startServe } from '../support/heddle.ts';
import type { RunningServer } from '../support/heddle.ts';
import { storeUnusedImage } from '../support/images.ts';
import { sampledTests } from '../support/scale.ts';
import { block, fn, workflow } from '../support/workflow.ts';

function startServer(data: string, ...options: string[]): Promise<RunningServer> {
  return startServe(['--data', data, '--grace', '5', ...options]);
}

const ASK = workflow(
  [block('Rest', 'wait', { timeValue: '2', timeUnit: 'seconds' }), block('Ask', 'human_in_the_loop')],
  ['Start -> Rest -> Ask'],
);

/** Returns a function that calls a running server. */
function createCaller({ url, key = '' }: Partial<RunningServer>) {
  return async (method: string, path: string, body?: unknown) => {
    const headers = { 'X-API-Key': key, 'Content-Type': 'application/json' };
    const init = body === undefined ? { method, headers } : { method, headers, body: JSON.stringify(body) };
    const response = await fetch(url + path, init);
    const { data } = (await response.json()) as { data: { id: string; status: string } };
    return { status: response.status, data, runId: response.headers.get('x-run-id') ?? '' };
  };
}

async function deploy(
  call: ReturnType<typeof createCaller>,
  workspaceId: string | undefined,
  exported = ASK,
): Promise<string> {
  const { data } = await call('POST', '/api/v2/workflows', { workspaceId, name: 'Ask' });
  await call('PUT', `/api/v2/workflows/${data.id}/state`, draftOf(exported));
  await call('POST', `/api/v2/workflows/${data.id}/deploy`);
  return `/api/v2/workflows/${data.id}`;
}

describe('heddle serve', { timeout: 120_000 }, () => {
  const sampledIt = sampledTests(1 / 2, 'tests of heddle serve as a process');

  sampledIt(
    'shows the first key once, continues its runs after a kill, and shuts down gracefully',
    async () => {
      const data = dataFolder();
      const first = await startServer(data);
      expect(first.key).toMatch(/^sk-heddle-/);
      const call = createCaller(first);
      const path = await deploy(call, first.workspaceId);
      const { status, runId } = await call('POST', `${path}/execute`, { async: true });
      expect(status).toBe(202);
      first.process.child.kill('SIGKILL');
      await first.process.ended;

      const second = await startServer(data);
      expect(second).not.toHaveProperty('key');
      const callSecond = createCaller({ url: second.url, key: first.key ?? '' });
      await expect
        .poll(async () => (await callSecond('GET', `${path}/runs/${runId}`)).data, {
          timeout: 30_000,
          interval: 100,
        })
        .toMatchObject({ status: 'paused', paused: { pauseKind: 'human' } });
      second.process.child.kill('SIGTERM');
      expect(await second.process.ended).toMatchObject({ exit: 0 });
      await expect(fetch(second.url)).rejects.toThrow('fetch failed');
    },
  );

  sampledIt('does not report the tools of an agent as unknown', async () => {
    const { workspaceId, ...server } = await startServer(dataFolder());
    const call = createCaller(server);
    const tools = [
      { type: 'slack', operation: 'send' },
      { type: 'mcp', params: { toolName: 'search' } },
    ];
    const draft = draftOf(workflow([block('Agent', 'agent', { tools })], ['Start -> Agent']));
    const { data } = await call('POST', '/api/v2/workflows', { workspaceId, name: 'Agent' });
    const saved = await call('PUT', `/api/v2/workflows/${data.id}/state`, draft);
    expect(saved).toMatchObject({ status: 200, data: { lint: { unresolvedReferences: [] } } });
  });

  sampledIt('responds to a pending request while it shuts down, and loses no run', async () => {
    const data = dataFolder();
    const first = await startServer(data);
    const call = createCaller(first);
    const path = await deploy(call, first.workspaceId);
    const headers = { 'X-API-Key': first.key ?? '', 'X-Run-Id': 'the-run' };
    const response = fetch(`${first.url}${path}/execute`, { method: 'POST', headers, body: '{}' });
    await expect
      .poll(async () => (await call('GET', `${path}/runs/the-run`)).status, { timeout: 20_000 })
      .toBe(200);
    first.process.child.kill('SIGTERM');
    expect((await response).status).toBe(503);
    expect(await first.process.ended).toMatchObject({ exit: 0 });
    const second = await startServer(data);
    const callSecond = createCaller({ url: second.url, key: first.key ?? '' });
    await expect
      .poll(async () => (await callSecond('GET', `${path}/runs/the-run`)).data.status, {
        timeout: 30_000,
        interval: 100,
      })
      .toBe('paused');
  });

  sampledIt('deletes unused images of its data folder', async () => {
    const data = dataFolder();
    const file = await storeUnusedImage(join(data, 'images'));
    await startServer(data);
    await expect.poll(() => existsSync(file), { timeout: 20_000 }).toBe(false);
  });

  sampledIt('keeps the files of a run after a kill', async () => {
    const data = dataFolder();
    const first = await startServer(data);
    const path = await deploy(createCaller(first), first.workspaceId, ECHO);
    const execution = await createCaller(first)('POST', `${path}/execute`, { input: { doc: FILE } });
    first.process.child.kill('SIGKILL');
    await first.process.ended;

    const { url } = await startServer(data);
    const headers = { 'X-API-Key': first.key ?? '' };
    const response = await fetch(`${url}${path}/runs/${execution.runId}?includeOutput=true`, { headers });
    const { data: run } = (await response.json()) as { data: { files: { downloadPath: string }[] } };
    const file = await fetch(url + (run.files[0]?.downloadPath ?? ''), { headers });
    expect(file.headers.get('content-disposition')).toMatch(/^attachment; filename="abc\.txt"/);
    expect(await file.text()).toBe('abc');
  });

  sampledIt('accepts key commands while it runs', async () => {
    const data = dataFolder();
    const { url, workspaceId, key: personal } = await startServer(data);
    const metaStatus = async (key: string) =>
      (await fetch(`${url}/api/v2/meta`, { headers: { 'X-API-Key': key } })).status;
    const created = await heddle([
      'keys',
      'create',
      '--data',
      data,
      '--workspace',
      workspaceId,
      '--name',
      'shared',
    ]);
    expect(created).toMatchObject({ exit: 0, stdout: expect.stringMatching(/^sk-heddle-\S+\n$/) });
    const key = created.stdout.trim();
    expect(await metaStatus(key)).toBe(200);
    const listed = await heddle(['keys', 'list', '--data', data, '--json']);
    const { data: keys } = JSON.parse(listed.stdout) as { data: { id: string; name: string }[] };
    expect(keys.map(({ name }) => name)).toEqual(['first', 'shared']);
    expect(keys[1]).toMatchObject({
      workspaceId,
      userId: null,
      createdAt: expect.any(String),
      revokedAt: null,
    });
    expect(Object.keys(keys[1] ?? {}).filter((name) => name.includes('_'))).toEqual([]);
    const workspaces = await heddle(['workspaces', 'list', '--data', data, '--json']);
    expect(JSON.parse(workspaces.stdout)).toEqual({
      data: [{ id: workspaceId, name: 'Default', personalKeys: true }],
    });
    const workspaceKey = await heddle(['keys', 'create', '--data', data, '--workspace', '--json']);
    const { id: workspaceKeyId } = (JSON.parse(workspaceKey.stdout) as { data: { id: string } }).data;
    const updatedList = await heddle(['keys', 'list', '--data', data, '--json']);
    expect((JSON.parse(updatedList.stdout) as { data: object[] }).data.at(-1)).toMatchObject({
      id: workspaceKeyId,
      workspaceId,
    });
    expect(listed.stdout).not.toContain(key);
    const setPersonalKeys = (state: string, ...options: string[]) =>
      heddle([
        'workspaces',
        'set',
        workspaceId.slice(0, 8),
        '--personal-keys',
        state,
        '--data',
        data,
        ...options,
      ]);
    expect(await setPersonalKeys('off')).toMatchObject({
      exit: 0,
      stdout: `${workspaceId}: personal keys off\n`,
    });
    const path = `${url}/api/v2/workspaces/${workspaceId}`;
    const statusWith = async (apiKey: string) =>
      (await fetch(path, { headers: { 'X-API-Key': apiKey } })).status;
    expect([await statusWith(personal), await statusWith(key)]).toEqual([403, 200]);
    expect(JSON.parse((await setPersonalKeys('on', '--json')).stdout)).toEqual({
      data: { id: workspaceId, personalKeys: true },
    });
    expect(await statusWith(personal)).toBe(200);
    expect(await setPersonalKeys('perhaps')).toMatchObject({ exit: 2 });
    const id = keys[1]?.id ?? '';
    expect(await heddle(['keys', 'revoke', id.slice(0, 8), '--data', data])).toMatchObject({ exit: 0 });
    expect(await metaStatus(key)).toBe(401);
    expect(await heddle(['keys', 'revoke', id, '--data', data])).toMatchObject({ exit: 2 });
    expect(await heddle(['keys', 'create', '--data', data, '--workspace', 'none'])).toMatchObject({
      exit: 2,
    });
    const table = await heddle(['keys', 'list', '--data', data]);
    expect(table.stdout).toMatch(/shared .* revoked/);
  });

  sampledIt(
    'gives its environment values only to the oldest workspace, for deployed workflows and drafts',
    async () => {
      const data = dataFolder();
      const first = await startServer(data, '--env', 'KEY=sk-very-secret');
      const store = await openServiceStore({ data });
      onTestFinished(() => store.close());
      const { id: userId } = (await store.workspaces.firstUser()) ?? { id: '' };
      const other = await store.workspaces.createWorkspace('Other', userId);
      const call = createCaller(first);
      const source = workflow(
        [fn('F', 'return [Object.keys(environmentVariables), "{{KEY}}".length, <start.text>]')],
        ['Start -> F'],
      );
      const outputsOf = async (workspaceId: string | undefined): Promise<unknown[]> => {
        const path = await deploy(call, workspaceId, source);
        const input = { text: 'sk-very-secret' };
        const bodies = [{ input }, { input, run: { source: 'manual' } }];
        const runs = bodies.map(async (body) => (await call('POST', `${path}/execute`, body)).data);
        return (await Promise.all(runs)).map(
          (run) => (run as { output?: { result: unknown } }).output?.result,
        );
      };
      const ownEnvironment = [['KEY'], 14, '«redacted:KEY»'];
      const noEnvironment = [[], '{{KEY}}'.length, 'sk-very-secret'];
      expect(await outputsOf(first.workspaceId)).toEqual([ownEnvironment, ownEnvironment]);
      expect(await outputsOf(other)).toEqual([noEnvironment, noEnvironment]);
      first.process.child.kill('SIGTERM');
      await first.process.ended;
    },
  );

  sampledIt('rejects a port in use, and PostgreSQL without a secret', async () => {
    const { url } = await startServer(dataFolder());
    const data = dataFolder();
    const result = await heddle(['serve', '--data', data, '--port', new URL(url).port]);
    expect(result).toMatchObject({ exit: 2, stderr: expect.stringContaining('Choose another --port') });
    // The first key is created only when it can be shown, so it is not lost.
    expect(await startServer(data)).toMatchObject({ key: expect.stringMatching(/^sk-heddle-/) });
    for (const command of [
      ['keys', 'list'],
      ['workspaces', 'list'],
      ['keys', 'revoke', 'x'],
      ['workspaces', 'set', 'x', '--personal-keys', 'on'],
    ]) {
      const missing = await heddle([...command, '--data', join(data, 'none')]);
      expect(missing).toMatchObject({ exit: 2, stderr: expect.stringContaining('There is no data folder') });
    }
    const store = ['--postgres', 'postgresql://nowhere'];
    expect(await heddle(['keys', 'list', ...store])).toMatchObject({
      exit: 2,
      stderr: expect.stringContaining('HEDDLE_API_SECRET'),
    });
  });

  sampledIt('starts URLs in responses with its own origin, regardless of the Host header', async () => {
    for (const [options, origin] of [
      [[], undefined],
      [['--host', '0.0.0.0'], undefined],
      [['--origin', 'https://heddle.example'], 'https://heddle.example'],
    ] as const) {
      const server = await startServer(dataFolder(), ...options);
      const expectedOrigin = origin ?? server.url.replace('0.0.0.0', '127.0.0.1');
      const path = await deploy(createCaller(server), server.workspaceId, ECHO);
      const forged = { Host: 'evil.example', 'X-Forwarded-Host': 'evil.example' };
      const headers = { 'X-API-Key': server.key ?? '', 'Content-Type': 'application/json', ...forged };
      const accepted = await post(`${server.url}${path}/execute`, headers, '{"async": true}');
      expect(JSON.parse(accepted)).toMatchObject({
        data: { statusUrl: expect.stringMatching(new RegExp(`^${expectedOrigin}/api/v2/`)) },
      });
      server.process.child.kill('SIGTERM');
      await server.process.ended;
    }
  });
});

/** Sends a POST with these headers and returns the response. `fetch` does not allow a `Host` header. */
async function post(url: string, headers: { [name: string]: string }, body: string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const outgoing = request(url, { method: 'POST', headers }, (response) => {
    text(response).then(resolve, reject);
  });
  outgoing.on('error', reject).end(body);
  return promise;
}
