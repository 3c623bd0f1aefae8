import { expect, it } from 'vitest';
import { agent, paymentCall, startPaymentModel } from '../agents/approvals.ts';
import { createTestApi } from '../support/api.ts';
import { waitForStatus } from '../support/api-workflows.ts';
import type { RunResponse } from '../support/api-workflows.ts';
import { workflow } from '../support/workflow.ts';

interface PausedRun {
  paused: { contextId: string | null; calls: { id: string }[] | null };
}

it('a paused run shows the tool calls of its agent only to callers who may resume it, and accepts their decisions', async () => {
  const { options: engineOptions, recordedCalls } = await startPaymentModel([
    { toolCalls: [paymentCall('ada', 1), paymentCall('bob', 2)] },
  ]);
  const api = await createTestApi({ engineOptions });
  const id = await api.deploy(workflow([agent('A')], ['Start -> A']));
  const { data } = await api.call<RunResponse>('POST', `/api/v2/workflows/${id}/execute`, { body: {} });
  const path = `/api/v2/workflows/${id}/runs/${data.runId}`;
  await waitForStatus(api, path, 'paused');
  const { paused } = (await api.call<PausedRun>('GET', path)).data;
  expect(paused.calls).toMatchObject([
    { id: '1.1', name: 'pay', arguments: { to: 'ada', amount: 1 }, parameters: { type: 'object' } },
    { id: '1.2', name: 'pay', arguments: { to: 'bob', amount: 2 } },
  ]);
  const legacyResponse = await api.call('GET', `/api/workflows/${id}/paused/${data.runId}`);
  expect(legacyResponse.body).toMatchObject({
    pausePoints: [{ response: { calls: [{ id: '1.1' }, { id: '1.2' }] } }],
  });

  const userId = await api.store.workspaces.createUser({ email: 'reader@heddle.test', name: 'Reader' });
  await api.store.workspaces.setMember(api.workspaceId, userId, 'read');
  const { key } = await api.store.keys.create({ userId }, 'reader');
  expect(await api.call('GET', path, { key })).toMatchObject({
    data: { status: 'paused', paused: { contextId: null, calls: null } },
  });
  const { contextId } = paused;
  const resume = (input: object, options = {}) =>
    api.call('POST', `${path}/resume`, { body: { contextId, input }, ...options });
  expect(await resume({ decision: 'approve' }, { key })).toMatchObject({ status: 403 });
  const response = await resume({ decisions: { '2.1': { decision: 'approve' } } });
  expect(response).toMatchObject({
    status: 400,
    body: { error: { message: expect.stringContaining('no call "2.1" waits here, only 1.1, 1.2') } },
  });
  const forgedInput =
    '{"decisions": {"1.1": {"decision": "edit", "arguments": {"to": "ada", "amount": 1, "__proto__": {}}}}}';
  const rawBody = `{"contextId": ${JSON.stringify(contextId)}, "input": ${forgedInput}}`;
  expect(await api.call('POST', `${path}/resume`, { rawBody })).toMatchObject({ status: 400 });
  expect(recordedCalls).toEqual([]);
  expect(paused).toMatchObject({ pausePointCount: 1, resumedCount: 0 });
  const firstAnswer = { decisions: { '1.2': { decision: 'deny' } } };
  expect(await resume(firstAnswer)).toMatchObject({ status: 200, data: { status: 'paused' } });
  const secondPause = (await api.call<PausedRun>('GET', path)).data.paused;
  expect(secondPause).toMatchObject({ pausePointCount: 2, resumedCount: 1, calls: [{ id: '1.1' }] });
  expect((await api.call('GET', `/api/workflows/${id}/paused/${data.runId}`)).body).toMatchObject({
    status: 'partially_resumed',
    totalPauseCount: 2,
    resumedCount: 1,
  });
  const lastBody = { contextId: secondPause.contextId, input: { decision: 'approve' } };
  expect(await api.call('POST', `${path}/resume`, { body: lastBody })).toMatchObject({
    status: 200,
    data: { status: 'completed' },
  });
  expect(recordedCalls).toEqual([{ to: 'ada', amount: 1 }]);
  expect((await api.call<PausedRun>('GET', path)).data.paused).toBeNull();
});
