import { existsSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { openServiceStore } from '@heddle/service';
import { describe, expect, onTestFinished } from 'vitest';
import { draftOf } from '../support/api.ts';
import { ECHO_WORKFLOW, FILE } from '../support/api-files.ts';
import { createDataFolder } from '../support/data-folder.ts';
import { runHeddle, startHeddleServe } from '../support/heddle.ts';
import type { RunningServer } from '../support/heddle.ts';
import { storeUnusedImage } from '../support/images.ts';
import { sampledTests } from '../support/scale.ts';
import { block, fn, workflow } from '../support/workflow.ts';

function startServer(dataFolder: string, ...options: string[]): Promise<RunningServer> {
  return startHeddleServe(['--data', dataFolder, '--grace', '5', ...options]);
}

const ASK_WORKFLOW = workflow(
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
  exportedWorkflow = ASK_WORKFLOW,
): Promise<string> {
  const { data } = await call('POST', '/api/v2/workflows', { workspaceId, name: 'Ask' });
  await call('PUT', `/api/v2/workflows/${data.id}/state`, draftOf(exportedWorkflow));
  await call('POST', `/api/v2/workflows/${data.id}/deploy`);
  return `/api/v2/workflows/${data.id}`;
}

describe('heddle serve', { timeout: 120_000 }, () => {
  const sampledIt = sampledTests(1 / 2, 'tests of heddle serve as a process');

  sampledIt(
    'shows the first key once, continues its runs after a kill, and shuts down gracefully',
    async () => {
      const dataFolder = createDataFolder();
      const firstServer = await startServer(dataFolder);
      expect(firstServer.key).toMatch(/^sk-heddle-/);
      const call = createCaller(firstServer);
      const path = await deploy(call, firstServer.workspaceId);
      const { status, runId } = await call('POST', `${path}/execute`, { async: true });
      expect(status).toBe(202);
      firstServer.process.child.kill('SIGKILL');
      await firstServer.process.result;

      const secondServer = await startServer(dataFolder);
      expect(secondServer).not.toHaveProperty('key');
      const callSecondServer = createCaller({ url: secondServer.url, key: firstServer.key ?? '' });
      await expect
        .poll(async () => (await callSecondServer('GET', `${path}/runs/${runId}`)).data, {
          timeout: 30_000,
          interval: 100,
        })
        .toMatchObject({ status: 'paused', paused: { pauseKind: 'human' } });
      secondServer.process.child.kill('SIGTERM');
      expect(await secondServer.process.result).toMatchObject({ exitCode: 0 });
      await expect(fetch(secondServer.url)).rejects.toThrow('fetch failed');
    },
  );

  sampledIt('does not report the tools of an agent as unknown', async () => {
    const { workspaceId, ...server } = await startServer(createDataFolder());
    const call = createCaller(server);
    const tools = [
      { type: 'slack', operation: 'send' },
      { type: 'mcp', params: { toolName: 'search' } },
    ];
    const draft = draftOf(workflow([block('Agent', 'agent', { tools })], ['Start -> Agent']));
    const { data } = await call('POST', '/api/v2/workflows', { workspaceId, name: 'Agent' });
    const saveResponse = await call('PUT', `/api/v2/workflows/${data.id}/state`, draft);
    expect(saveResponse).toMatchObject({ status: 200, data: { lint: { unresolvedReferences: [] } } });
  });

  sampledIt('responds to a pending request while it shuts down, and loses no run', async () => {
    const dataFolder = createDataFolder();
    const firstServer = await startServer(dataFolder);
    const call = createCaller(firstServer);
    const path = await deploy(call, firstServer.workspaceId);
    const headers = { 'X-API-Key': firstServer.key ?? '', 'X-Run-Id': 'the-run' };
    const response = fetch(`${firstServer.url}${path}/execute`, { method: 'POST', headers, body: '{}' });
    await expect
      .poll(async () => (await call('GET', `${path}/runs/the-run`)).status, { timeout: 20_000 })
      .toBe(200);
    firstServer.process.child.kill('SIGTERM');
    expect((await response).status).toBe(503);
    expect(await firstServer.process.result).toMatchObject({ exitCode: 0 });
    const secondServer = await startServer(dataFolder);
    const callSecondServer = createCaller({ url: secondServer.url, key: firstServer.key ?? '' });
    await expect
      .poll(async () => (await callSecondServer('GET', `${path}/runs/the-run`)).data.status, {
        timeout: 30_000,
        interval: 100,
      })
      .toBe('paused');
  });

  sampledIt('deletes unused images of its data folder', async () => {
    const dataFolder = createDataFolder();
    const file = await storeUnusedImage(join(dataFolder, 'images'));
    await startServer(dataFolder);
    await expect.poll(() => existsSync(file), { timeout: 20_000 }).toBe(false);
  });

  sampledIt('keeps the files of a run after a kill', async () => {
    const dataFolder = createDataFolder();
    const firstServer = await startServer(dataFolder);
    const path = await deploy(createCaller(firstServer), firstServer.workspaceId, ECHO_WORKFLOW);
    const execution = await createCaller(firstServer)('POST', `${path}/execute`, { input: { doc: FILE } });
    firstServer.process.child.kill('SIGKILL');
    await firstServer.process.result;

    const { url } = await startServer(dataFolder);
    const headers = { 'X-API-Key': firstServer.key ?? '' };
    const response = await fetch(`${url}${path}/runs/${execution.runId}?includeOutput=true`, { headers });
    const { data: run } = (await response.json()) as { data: { files: { downloadPath: string }[] } };
    const fileResponse = await fetch(url + (run.files[0]?.downloadPath ?? ''), { headers });
    expect(fileResponse.headers.get('content-disposition')).toMatch(/^attachment; filename="abc\.txt"/);
    expect(await fileResponse.text()).toBe('abc');
  });

  sampledIt('accepts key commands while it runs', async () => {
    const dataFolder = createDataFolder();
    const { url, workspaceId, key: personalKey } = await startServer(dataFolder);
    const getMetaStatus = async (key: string) =>
      (await fetch(`${url}/api/v2/meta`, { headers: { 'X-API-Key': key } })).status;
    const createResult = await runHeddle([
      'keys',
      'create',
      '--data',
      dataFolder,
      '--workspace',
      workspaceId,
      '--name',
      'shared',
    ]);
    expect(createResult).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^sk-heddle-\S+\n$/) });
    const key = createResult.stdout.trim();
    expect(await getMetaStatus(key)).toBe(200);
    const listResult = await runHeddle(['keys', 'list', '--data', dataFolder, '--json']);
    const { data: keys } = JSON.parse(listResult.stdout) as { data: { id: string; name: string }[] };
    expect(keys.map(({ name }) => name)).toEqual(['first', 'shared']);
    expect(keys[1]).toMatchObject({
      workspaceId,
      userId: null,
      createdAt: expect.any(String),
      revokedAt: null,
    });
    expect(Object.keys(keys[1] ?? {}).filter((name) => name.includes('_'))).toEqual([]);
    const workspacesResult = await runHeddle(['workspaces', 'list', '--data', dataFolder, '--json']);
    expect(JSON.parse(workspacesResult.stdout)).toEqual({
      data: [{ id: workspaceId, name: 'Default', personalKeys: true }],
    });
    const workspaceKeyResult = await runHeddle([
      'keys',
      'create',
      '--data',
      dataFolder,
      '--workspace',
      '--json',
    ]);
    const { id: workspaceKeyId } = (JSON.parse(workspaceKeyResult.stdout) as { data: { id: string } }).data;
    const updatedListResult = await runHeddle(['keys', 'list', '--data', dataFolder, '--json']);
    expect((JSON.parse(updatedListResult.stdout) as { data: object[] }).data.at(-1)).toMatchObject({
      id: workspaceKeyId,
      workspaceId,
    });
    expect(listResult.stdout).not.toContain(key);
    const setPersonalKeys = (state: string, ...options: string[]) =>
      runHeddle([
        'workspaces',
        'set',
        workspaceId.slice(0, 8),
        '--personal-keys',
        state,
        '--data',
        dataFolder,
        ...options,
      ]);
    expect(await setPersonalKeys('off')).toMatchObject({
      exitCode: 0,
      stdout: `${workspaceId}: personal keys off\n`,
    });
    const path = `${url}/api/v2/workspaces/${workspaceId}`;
    const getWorkspaceStatus = async (apiKey: string) =>
      (await fetch(path, { headers: { 'X-API-Key': apiKey } })).status;
    expect([await getWorkspaceStatus(personalKey), await getWorkspaceStatus(key)]).toEqual([403, 200]);
    expect(JSON.parse((await setPersonalKeys('on', '--json')).stdout)).toEqual({
      data: { id: workspaceId, personalKeys: true },
    });
    expect(await getWorkspaceStatus(personalKey)).toBe(200);
    expect(await setPersonalKeys('perhaps')).toMatchObject({ exitCode: 2 });
    const id = keys[1]?.id ?? '';
    expect(await runHeddle(['keys', 'revoke', id.slice(0, 8), '--data', dataFolder])).toMatchObject({
      exitCode: 0,
    });
    expect(await getMetaStatus(key)).toBe(401);
    expect(await runHeddle(['keys', 'revoke', id, '--data', dataFolder])).toMatchObject({ exitCode: 2 });
    expect(await runHeddle(['keys', 'create', '--data', dataFolder, '--workspace', 'none'])).toMatchObject({
      exitCode: 2,
    });
    const tableResult = await runHeddle(['keys', 'list', '--data', dataFolder]);
    expect(tableResult.stdout).toMatch(/shared .* revoked/);
  });

  sampledIt(
    'gives its environment values only to the oldest workspace, for deployed workflows and drafts',
    async () => {
      const dataFolder = createDataFolder();
      const firstServer = await startServer(dataFolder, '--env', 'KEY=sk-very-secret');
      const store = await openServiceStore({ data: dataFolder });
      onTestFinished(() => store.close());
      const { id: userId } = (await store.workspaces.findFirstUser()) ?? { id: '' };
      const otherWorkspaceId = await store.workspaces.createWorkspace('Other', userId);
      const call = createCaller(firstServer);
      const environmentWorkflow = workflow(
        [fn('F', 'return [Object.keys(environmentVariables), "{{KEY}}".length, <start.text>]')],
        ['Start -> F'],
      );
      const runAndReadOutputs = async (workspaceId: string | undefined): Promise<unknown[]> => {
        const path = await deploy(call, workspaceId, environmentWorkflow);
        const input = { text: 'sk-very-secret' };
        const bodies = [{ input }, { input, run: { source: 'manual' } }];
        const runs = bodies.map(async (body) => (await call('POST', `${path}/execute`, body)).data);
        return (await Promise.all(runs)).map(
          (run) => (run as { output?: { result: unknown } }).output?.result,
        );
      };
      const ownEnvironment = [['KEY'], 14, '«redacted:KEY»'];
      const noEnvironment = [[], '{{KEY}}'.length, 'sk-very-secret'];
      expect(await runAndReadOutputs(firstServer.workspaceId)).toEqual([ownEnvironment, ownEnvironment]);
      expect(await runAndReadOutputs(otherWorkspaceId)).toEqual([noEnvironment, noEnvironment]);
      firstServer.process.child.kill('SIGTERM');
      await firstServer.process.result;
    },
  );

  sampledIt('rejects a port in use, and PostgreSQL without a secret', async () => {
    const { url } = await startServer(createDataFolder());
    const dataFolder = createDataFolder();
    const result = await runHeddle(['serve', '--data', dataFolder, '--port', new URL(url).port]);
    expect(result).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('Choose another --port') });
    // The first key is created only when it can be shown, so it is not lost.
    expect(await startServer(dataFolder)).toMatchObject({ key: expect.stringMatching(/^sk-heddle-/) });
    for (const command of [
      ['keys', 'list'],
      ['workspaces', 'list'],
      ['keys', 'revoke', 'x'],
      ['workspaces', 'set', 'x', '--personal-keys', 'on'],
    ]) {
      const missingFolderResult = await runHeddle([...command, '--data', join(dataFolder, 'none')]);
      expect(missingFolderResult).toMatchObject({
        exitCode: 2,
        stderr: expect.stringContaining('There is no data folder'),
      });
    }
    const storeArgs = ['--postgres', 'postgresql://nowhere'];
    expect(await runHeddle(['keys', 'list', ...storeArgs])).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('HEDDLE_API_SECRET'),
    });
  });

  sampledIt('starts URLs in responses with its own origin, regardless of the Host header', async () => {
    for (const [options, origin] of [
      [[], undefined],
      [['--host', '0.0.0.0'], undefined],
      [['--origin', 'https://heddle.example'], 'https://heddle.example'],
    ] as const) {
      const server = await startServer(createDataFolder(), ...options);
      const expectedOrigin = origin ?? server.url.replace('0.0.0.0', '127.0.0.1');
      const path = await deploy(createCaller(server), server.workspaceId, ECHO_WORKFLOW);
      const forgedHeaders = { Host: 'evil.example', 'X-Forwarded-Host': 'evil.example' };
      const headers = { 'X-API-Key': server.key ?? '', 'Content-Type': 'application/json', ...forgedHeaders };
      const responseBody = await post(`${server.url}${path}/execute`, headers, '{"async": true}');
      expect(JSON.parse(responseBody)).toMatchObject({
        data: { statusUrl: expect.stringMatching(new RegExp(`^${expectedOrigin}/api/v2/`)) },
      });
      server.process.child.kill('SIGTERM');
      await server.process.result;
    }
  });
});

/** Sends a POST request with these headers and returns the response body. `fetch` does not allow a `Host` header. */
async function post(url: string, headers: { [name: string]: string }, body: string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const clientRequest = request(url, { method: 'POST', headers }, (response) => {
    text(response).then(resolve, reject);
  });
  clientRequest.on('error', reject).end(body);
  return promise;
}
