import { describe, expect, it } from 'vitest';
import { testApi } from '../../../../../test/support/api.ts';
import { GREETING, greetingOf } from '../../../../../test/support/api-workflows.ts';

const api = await testApi();
const { call, fetch } = api;

describe('the id of a run', () => {
  it('is claimed once, and its run is not answered with again', async () => {
    const path = await greetingOf(api);
    const runId = `mine.${crypto.randomUUID()}`;
    const headers = { 'X-Run-Id': runId };
    const first = await call('POST', `${path}/execute`, { headers, body: {} });
    expect(first).toMatchObject({ status: 200, data: { runId } });
    for (const body of [{}, { async: true }, { stream: true }]) {
      const again = await call('POST', `${path}/execute`, { headers, body });
      expect(again).toMatchObject({
        status: 409,
        body: { error: { code: 'CONFLICT', details: { code: 'RUN_ID_CONFLICT', runId } } },
      });
      expect(again.headers.get('x-run-id')).toBe(runId);
    }
  });

  it('is claimed by one of many who want it at once', async () => {
    const path = await greetingOf(api);
    const headers = { 'X-Run-Id': crypto.randomUUID() };
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => call('POST', `${path}/execute`, { headers, body: {} })),
    );
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([
      200,
      ...Array<number>(7).fill(409),
    ]);
  });

  it.each(['', 'a b', 'a/b', 'x'.repeat(129)])('has a form: %j is refused', async (runId) => {
    const path = await greetingOf(api);
    const answer = await call('POST', `${path}/execute`, { headers: { 'X-Run-Id': runId }, body: {} });
    expect(answer).toMatchObject({ status: 400 });
  });

  it('is free again when its run was refused before it began', async () => {
    const id = await api.drafted(GREETING);
    const headers = { 'X-Run-Id': crypto.randomUUID() };
    const path = `/api/v2/workflows/${id}`;
    expect(await call('POST', `${path}/execute`, { headers, body: {} })).toMatchObject({ status: 403 });
    await call('POST', `${path}/deploy`);
    expect(await call('POST', `${path}/execute`, { headers, body: {} })).toMatchObject({ status: 200 });
  });
});

describe('options that cannot be combined', () => {
  const manual = { source: 'manual' };
  const mock = { source: 'manual', entry: { type: 'trigger', useMockPayload: true } };
  it.each([
    [{ run: manual, async: true }, 'Manual execution does not support async mode'],
    [{ run: mock, input: {} }, 'input and run.entry.useMockPayload cannot be combined'],
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
      'includeThinking and includeToolCalls require the X-Heddle-Stream-Protocol: agent-events-v1 header',
    ],
  ])('%j are refused, and nothing is recorded', async (body, message) => {
    const path = await greetingOf(api);
    const headers = { 'X-Run-Id': crypto.randomUUID() };
    const answer = await call('POST', `${path}/execute`, { headers, body });
    expect(answer.body).toEqual({ error: { code: 'BAD_REQUEST', message } });
    expect(await call('GET', `${path}/runs/${headers['X-Run-Id']}`)).toMatchObject({ status: 404 });
  });

  it('are fine without one of them', async () => {
    const path = await greetingOf(api);
    const headers = { 'X-Heddle-Stream-Protocol': 'x, Agent-Events-V1' };
    const body = { stream: true, includeToolCalls: true };
    expect((await fetch('POST', `${path}/execute`, { headers, body })).status).toBe(200);
    const bounds = [0, 604_801, 1.5].map((executionTimeoutSeconds) => ({
      async: true,
      executionTimeoutSeconds,
    }));
    for (const each of bounds)
      expect(await call('POST', `${path}/execute`, { body: each })).toMatchObject({ status: 400 });
  });

  it('are told after the length of the chain, and before the workflow is looked up', async () => {
    const chain = (length: number) => ({ 'X-Heddle-Via': Array<string>(length).fill('w').join(',') });
    const path = '/api/v2/workflows/nowhere/execute';
    const body = { async: true, stream: true };
    expect(await call('POST', path, { body, headers: chain(25) })).toMatchObject({
      status: 409,
      body: { error: { details: { code: 'CALL_CHAIN_DEPTH_EXCEEDED' } } },
    });
    expect(await call('POST', path, { body, headers: chain(24) })).toMatchObject({ status: 400 });
    expect(await call('POST', path, { body: {} })).toMatchObject({ status: 404 });
  });
});
