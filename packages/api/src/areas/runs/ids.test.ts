import type { JsonObject } from '@heddle/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ORIGIN, createTestApi } from '../../../../../test/support/api.ts';
import type { CallOptions, TestApi } from '../../../../../test/support/api.ts';
import { FILE } from '../../../../../test/support/api-files.ts';
import {
  GREETING_WORKFLOW,
  deployGreeting,
  LONG_WORKFLOW,
  waitForStatus,
} from '../../../../../test/support/api-workflows.ts';
import type { RunResponse } from '../../../../../test/support/api-workflows.ts';
import { block, workflow } from '../../../../../test/support/workflow.ts';

/**
 * A workflow that waits for a person and responds with its file. Its start block outputs the ids that the run knows.
 */
const ID_REPORTING_WORKFLOW = withMetadata(
  workflow(
    [
      block('Ask', 'human_in_the_loop', {
        inputFormat: [{ id: 'ok', name: 'ok', type: 'boolean', required: true }],
      }),
      block('Reply', 'response', {
        dataMode: 'structured',
        builderData: [{ id: '1', name: 'doc', type: 'array', value: '<start.doc>' }],
      }),
    ],
    ['Start -> Ask -> Reply'],
    { inputFormat: [{ name: 'doc', type: 'file[]' }] },
  ) as JsonObject,
);

function withMetadata(definition: JsonObject): JsonObject {
  const { state } = definition as { state: { blocks: { Start: { subBlocks: JsonObject } } } };
  state.blocks.Start.subBlocks['runMetadata'] = { id: 'runMetadata', type: 'switch', value: true };
  return definition;
}

const api = await createTestApi();
const { call, fetch } = api;

describe('a run id', () => {
  it('can be used once, and a second use does not return the first run', async () => {
    const path = await deployGreeting(api);
    const runId = `mine.${crypto.randomUUID()}`;
    const headers = { 'X-Run-Id': runId };
    const firstResponse = await call('POST', `${path}/execute`, { headers, body: {} });
    expect(firstResponse).toMatchObject({ status: 200, data: { runId } });
    for (const body of [{}, { async: true }, { stream: true }]) {
      const secondResponse = await call('POST', `${path}/execute`, { headers, body });
      expect(secondResponse).toMatchObject({
        status: 409,
        body: { error: { code: 'CONFLICT', details: { code: 'RUN_ID_CONFLICT', runId } } },
      });
      expect(secondResponse.headers.get('x-run-id')).toBe(runId);
    }
  });

  it('is reserved by only one of many concurrent requests', async () => {
    const path = await deployGreeting(api);
    const headers = { 'X-Run-Id': crypto.randomUUID() };
    const responses = await Promise.all(
      Array.from({ length: 8 }, () => call('POST', `${path}/execute`, { headers, body: {} })),
    );
    expect(responses.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([
      200,
      ...Array<number>(7).fill(409),
    ]);
  });

  it.each([
    ...['', 'a b', 'a/b', 'x'.repeat(129)],
    // No URL could name such a run.
    ...['.', '..'],
    // Ids of child runs.
    ...['0b7f0b1e-7c1c-8f5e-9d3a-000000000001', '0B7F0B1E-7C1C-8F5E-9D3A-000000000001'],
  ])('is refused when malformed: %j', async (runId) => {
    const path = await deployGreeting(api);
    const response = await call('POST', `${path}/execute`, { headers: { 'X-Run-Id': runId }, body: {} });
    expect(response).toMatchObject({ status: 400 });
  });

  it('is free again if its run is refused before it starts', async () => {
    const id = await api.createDraft(GREETING_WORKFLOW);
    const headers = { 'X-Run-Id': crypto.randomUUID() };
    const path = `/api/v2/workflows/${id}`;
    expect(await call('POST', `${path}/execute`, { headers, body: {} })).toMatchObject({ status: 403 });
    await call('POST', `${path}/deploy`);
    expect(await call('POST', `${path}/execute`, { headers, body: {} })).toMatchObject({ status: 200 });
  });
});

/** About half of the generated characters have a special meaning in URLs or ids. */
const character = fc.oneof(
  fc.constantFrom('.', ':', '_', '-'),
  fc.constantFrom('a', 'z', 'A', 'Z', '0', '9'),
);

describe('a well-formed run id', () => {
  it('identifies its run in every URL', async () => {
    const path = await deployGreeting(api);
    const prefixes = fc.string({ unit: character, minLength: 1, maxLength: 6 });
    const suffix = crypto.randomUUID();
    await fc.assert(
      fc.asyncProperty(prefixes, fc.boolean(), async (prefix, isLong) => {
        const runId = isLong ? `${prefix}${suffix}` : prefix;
        const response = await call<RunResponse>('POST', `${path}/execute`, {
          headers: { 'X-Run-Id': runId },
          body: { async: true },
        });
        if (response.status === 400 || response.status === 409) return;
        expect(response.status).toBe(202);
        const readResponse = await call<RunResponse>('GET', new URL(response.data.statusUrl).pathname);
        expect(readResponse).toMatchObject({ status: 200, data: { runId } });
      }),
      {
        numRuns: 60,
        examples: [
          ['...', false],
          ['.', true],
          [':', false],
          ['a.', false],
        ],
      },
    );
  });
});

describe('the run ids of a workspace', () => {
  it('can be used by another workspace, which learns nothing about them', async () => {
    const { engine, store } = api;
    const otherApi = await createTestApi({ engine, store });
    const headers = { 'X-Run-Id': `order.${crypto.randomUUID()}` };
    const runId = headers['X-Run-Id'];
    const responses = [];
    for (const [client, name] of [
      [api, 'Ada'],
      [otherApi, 'Bob'],
    ] as const) {
      const path = await deployGreeting(client);
      const body = { input: { name } };
      responses.push(await client.call('POST', `${path}/execute`, { headers, body }));
      const readResponse = await client.call('GET', `${path}/runs/${runId}?includeOutput=true`);
      expect(readResponse).toMatchObject({ status: 200, data: { runId, output: { data: { hello: name } } } });
      expect((await client.call('POST', `${path}/execute`, { headers, body })).status).toBe(409);
    }
    expect(responses).toMatchObject([
      { status: 200, data: { runId, output: { data: { hello: 'Ada' } } } },
      { status: 200, data: { runId, output: { data: { hello: 'Bob' } } } },
    ]);
    expect([...api.reportedErrors, ...otherApi.reportedErrors]).toEqual([]);
  });

  it('identify a job without its workspace, unless two workspaces of the caller use the id', async () => {
    const { engine, store } = api;
    const otherApi = await createTestApi({ engine, store });
    const headers = { 'X-Run-Id': `job.${crypto.randomUUID()}` };
    const jobPath = `/api/jobs/${headers['X-Run-Id']}`;
    const execute = async (client: TestApi): Promise<unknown> =>
      client.call('POST', `${await deployGreeting(client)}/execute`, {
        headers,
        body: { input: { name: client.userId } },
      });
    await execute(api);
    // Ids of other users' workspaces do not matter.
    await execute(otherApi);
    expect(await call('GET', jobPath)).toMatchObject({
      status: 200,
      body: { taskId: headers['X-Run-Id'], output: { data: { hello: api.userId } } },
    });
    const { key } = await store.keys.create({ workspaceId: api.workspaceId }, 'of the workspace');
    await store.workspaces.setMember(otherApi.workspaceId, api.userId, 'read');
    expect(await call('GET', jobPath)).toMatchObject({ status: 404, body: { error: 'Job not found' } });
    expect(await call('GET', jobPath, { key })).toMatchObject({ status: 200 });
  });

  it('cannot be ids of runs that the host has started', async () => {
    const id = await api.deploy(GREETING_WORKFLOW);
    const runId = `nightly.${crypto.randomUUID()}`;
    await api.engine.execute(id, {}, { runId });
    const path = `/api/v2/workflows/${id}`;
    const headers = { 'X-Run-Id': runId };
    expect((await call('POST', `${path}/execute`, { headers, body: {} })).status).toBe(409);
    expect(await call('GET', `${path}/runs/${runId}`)).toMatchObject({ status: 200, data: { runId } });
    const { engine, store } = api;
    const otherApi = await createTestApi({ engine, store });
    const otherPath = await deployGreeting(otherApi);
    expect((await otherApi.call('POST', `${otherPath}/execute`, { headers, body: {} })).status).toBe(200);
  });
});

describe('a run with an id that the caller chose', () => {
  const answer = { ok: true };

  /** Returns every response about the run as text, after its request. */
  async function collectResponses(id: string, runId: string): Promise<string[]> {
    const v2Path = `/api/v2/workflows/${id}`;
    const legacyPath = `/api/workflows/${id}`;
    const headers = { 'X-Run-Id': runId };
    const responses: string[] = [];
    const send = async (method: string, path: string, options: CallOptions = {}): Promise<Response> => {
      const response = await api.fetch(method, path, options);
      expect(response.status, `${method} ${path}`).toBeLessThan(300);
      const text = await response.clone().text();
      responses.push(`${method} ${path}\n${JSON.stringify([...response.headers])}\n${text}`);
      return response;
    };
    await send('POST', `${v2Path}/execute`, { headers, body: { input: { doc: FILE } } });
    const runPath = `${v2Path}/runs/${runId}?includeOutput=true&selectedOutputs=Start`;
    const { data } = (await (await send('GET', runPath)).json()) as { data: RunResponse };
    const contextId = data.paused?.contextId ?? '';
    for (const path of [
      `${v2Path}/runs`,
      `${legacyPath}/executions/${runId}`,
      `/api/jobs/${runId}`,
      `${legacyPath}/paused`,
    ])
      await send('GET', path);
    for (const path of [`${legacyPath}/paused/${runId}`, `/api/resume/${id}/${runId}/${contextId}`])
      await send('GET', path);
    await send('POST', `${v2Path}/runs/${runId}/resume`, { body: { contextId, input: answer } });
    await send('GET', `${legacyPath}/executions/${runId}/stream`);
    const result = (await (await send('GET', runPath)).json()) as {
      data: { files: { downloadPath: string }[] };
    };
    await send('GET', result.data.files[0]?.downloadPath ?? '');
    await send('POST', `${v2Path}/runs/${runId}/cancel`);
    return responses;
  }

  it('has only this id in every response', async () => {
    const id = await api.deploy(ID_REPORTING_WORKFLOW);
    const runId = `reported.${crypto.randomUUID()}`;
    const responses = await collectResponses(id, runId);
    const reservation = (await api.store.reservations.findByRunId(runId, [api.workspaceId]))[0];
    expect(reservation?.engineRunId).toMatch(/^[\da-f-]{36}$/);
    for (const text of responses) expect(text).not.toContain(reservation?.engineRunId);
    for (const text of responses.filter((response) => !response.includes('/files/')))
      expect(text.split('\n').slice(1).join('\n')).toContain(runId);
    // The id that the run's own blocks see.
    expect(responses[1]).toContain(`"executionId":"${runId}"`);
  });

  it('has this id in refusals', async () => {
    const id = await api.deploy(GREETING_WORKFLOW);
    const runId = `ended.${crypto.randomUUID()}`;
    const path = `/api/v2/workflows/${id}`;
    await call('POST', `${path}/execute`, { headers: { 'X-Run-Id': runId }, body: {} });
    const body = { contextId: 'none' };
    expect(await call('POST', `${path}/runs/${runId}/resume`, { body })).toMatchObject({
      status: 409,
      body: { error: { message: `Run ${runId} has ended: nothing in it can be resumed.` } },
    });
  });

  it('can be the source run of a run that starts at a block', async () => {
    const id = await api.deploy(GREETING_WORKFLOW);
    const runId = `source.${crypto.randomUUID()}`;
    const path = `/api/v2/workflows/${id}`;
    const headers = { 'X-Run-Id': runId };
    await call('POST', `${path}/execute`, { headers, body: { input: { name: 'Ada' } } });
    const stateResponse = await call<{ blocks: { [id: string]: { name: string } } }>('GET', `${path}/state`);
    const [blockId] =
      Object.entries(stateResponse.data.blocks).find(([, { name }]) => name === 'Reply') ?? [];
    const createStartOptions = (sourceRunId: string) => ({
      body: { run: { source: 'manual', entry: { type: 'block', blockId, sourceRunId } } },
    });
    expect(await call('POST', `${path}/execute`, createStartOptions(runId))).toMatchObject({
      status: 200,
      data: { status: 'completed', output: { data: { hello: 'Ada' } } },
    });
    expect(await call('POST', `${path}/execute`, createStartOptions('of-nobody'))).toMatchObject({
      status: 404,
    });
  });

  it('is started, listed and cancelled by this id when queued', async () => {
    const id = await api.deploy(LONG_WORKFLOW);
    const runId = `accepted.${crypto.randomUUID()}`;
    const path = `/api/v2/workflows/${id}`;
    const headers = { 'X-Run-Id': runId };
    const acceptedResponse = await call<RunResponse>('POST', `${path}/execute`, {
      headers,
      body: { async: true },
    });
    expect(acceptedResponse).toMatchObject({ status: 202, data: { runId } });
    expect(acceptedResponse.data.statusUrl).toBe(`${ORIGIN}${path}/runs/${runId}`);
    await waitForStatus(api, `${path}/runs/${runId}`, 'paused');
    expect(await call('GET', `${path}/runs`)).toMatchObject({ data: [{ runId, trigger: 'api' }] });
    expect(await call('POST', `${path}/runs/${runId}/cancel`)).toMatchObject({
      data: { success: true, runId },
    });
  });

  it('is also found by the engine’s id, and shows the caller’s', async () => {
    const path = await deployGreeting(api);
    const runId = `both.${crypto.randomUUID()}`;
    await call('POST', `${path}/execute`, { headers: { 'X-Run-Id': runId }, body: {} });
    const reservation = (await api.store.reservations.findByRunId(runId, [api.workspaceId]))[0];
    expect(await call('GET', `${path}/runs/${reservation?.engineRunId}`)).toMatchObject({
      status: 200,
      data: { runId, trigger: 'api' },
    });
  });
});

describe('options of an execution', () => {
  const manualRun = { source: 'manual' };
  const mockRun = { source: 'manual', entry: { type: 'trigger', useMockPayload: true } };
  it.each([
    [{ run: manualRun, async: true }, 'Manual execution does not support async mode'],
    [{ run: mockRun, input: {} }, 'input and run.entry.useMockPayload cannot be combined'],
    [{ async: true, stream: true }, 'async and stream cannot be combined'],
    [{ executionTimeoutSeconds: 5 }, 'executionTimeoutSeconds is supported only for async execution'],
    [
      { async: true, selectedOutputs: ['a'] },
      'Async execution does not support streaming or output-shaping options',
    ],
    [
      { async: true, includeThinking: true },
      'Async execution does not support streaming or output-shaping options',
    ],
    [{ includeThinking: true }, 'includeThinking and includeToolCalls require stream: true'],
    [
      { stream: true, includeToolCalls: true },
      'includeThinking and includeToolCalls require the X-Sim-Stream-Protocol: agent-events-v1 header',
    ],
  ])('%j are refused, and nothing is recorded', async (body, message) => {
    const path = await deployGreeting(api);
    const headers = { 'X-Run-Id': crypto.randomUUID() };
    const response = await call('POST', `${path}/execute`, { headers, body });
    expect(response.body).toEqual({ error: { code: 'BAD_REQUEST', message } });
    expect(await call('GET', `${path}/runs/${headers['X-Run-Id']}`)).toMatchObject({ status: 404 });
  });

  it('are accepted in supported combinations, within their bounds', async () => {
    const path = await deployGreeting(api);
    const headers = { 'X-Sim-Stream-Protocol': 'x, Agent-Events-V1' };
    const body = { stream: true, includeToolCalls: true };
    expect((await fetch('POST', `${path}/execute`, { headers, body })).status).toBe(200);
    const outOfBoundsBodies = [0, 604_801, 1.5].map((executionTimeoutSeconds) => ({
      async: true,
      executionTimeoutSeconds,
    }));
    for (const outOfBoundsBody of outOfBoundsBodies)
      expect(await call('POST', `${path}/execute`, { body: outOfBoundsBody })).toMatchObject({ status: 400 });
  });

  it('are checked after the call chain and before the workflow lookup', async () => {
    const chainHeader = (length: number) => ({ 'X-Sim-Via': Array<string>(length).fill('w').join(',') });
    const path = '/api/v2/workflows/nowhere/execute';
    const body = { async: true, stream: true };
    expect(await call('POST', path, { body, headers: chainHeader(25) })).toMatchObject({
      status: 409,
      body: { error: { details: { code: 'CALL_CHAIN_DEPTH_EXCEEDED' } } },
    });
    expect(await call('POST', path, { body, headers: chainHeader(24) })).toMatchObject({ status: 400 });
    expect(await call('POST', path, { body: {} })).toMatchObject({ status: 404 });
  });
});
