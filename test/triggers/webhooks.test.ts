import { triggerTypes } from '@heddle/blocks/triggers';
import { beforeAll, describe, expect, it } from 'vitest';
import { sweepDeliveries } from '../../packages/service/src/triggers/webhooks/area.ts';
import { toDeployedTrigger, selectDeployedTriggers } from '../../packages/service/src/triggers/views.ts';
import { webhookViews } from '../../packages/service/src/triggers/webhooks/views.ts';
import {
  CIRCLEBACK,
  createJsonRequest,
  JSON_HEADERS,
  PROVIDERS,
  SECRETS,
  START_TIME_MS,
  openWebhookApi,
} from './webhook-setup.ts';
import type { WebhookApi } from './webhook-setup.ts';
import { storesToTest } from '../support/postgres.ts';

describe.each(storesToTest('webhooks'))('webhooks on %s', (store) => {
  let api: WebhookApi;

  beforeAll(async () => {
    api = await openWebhookApi(store);
  });

  describe.each(Object.entries(PROVIDERS))('signed like %s', (name, { type, fields, createRequest }) => {
    let hook: { workflowId: string; path: string };

    beforeAll(async () => {
      hook = await api.deployWebhook(fields, { type });
    });

    it('start a run with the payload', async () => {
      const response = await api.send(
        hook.path,
        createRequest({ hello: 'you' }, { id: 'one', nowMs: api.now.ms }),
      );
      expect(response).toMatchObject({ status: 200, body: { success: true, runId: expect.any(String) } });
      expect(await api.readTriggerOutput(response.body['runId'])).toMatchObject({ hello: 'you' });
      const [run] = await api.runsOf(hook.workflowId);
      expect(run).toMatchObject({ engine_id: response.body['runId'], trigger: 'webhook' });
    });

    it('start one run for several deliveries with one id, even if they are concurrent', async () => {
      const signedRequest = createRequest({ n: 1 }, { id: 'twice', nowMs: api.now.ms });
      const responses = await Promise.all(
        Array.from({ length: 8 }, () => api.send(hook.path, signedRequest)),
      );
      const runIds = new Set(responses.map(({ body }) => body['runId']));
      expect(responses.map(({ status }) => status)).toEqual(responses.map(() => 200));
      expect(runIds.size).toBe(1);
      expect(responses.filter(({ body }) => body['duplicate'] === true)).toHaveLength(7);
      const storedDeliveries = (await api.deliveriesOf(hook.workflowId)).filter(
        (row) => row.delivery_id === 'twice',
      );
      expect(storedDeliveries).toMatchObject([{ run_id: [...runIds][0], duplicates: 7 }]);
      // The same body with another id is another delivery.
      const otherResponse = await api.send(
        hook.path,
        createRequest({ n: 1 }, { id: 'thrice', nowMs: api.now.ms }),
      );
      expect(runIds.has(otherResponse.body['runId'])).toBe(false);
    });

    it('start no run for a wrong secret, a changed body, or a missing signature', async () => {
      const runCount = (await api.runsOf(hook.workflowId)).length;
      const signedRequest = createRequest({ n: 2 }, { id: 'bad', nowMs: api.now.ms });
      const otherSecretRequest = createRequest(
        { n: 2 },
        { id: 'bad', nowMs: api.now.ms, secret: 'whsec_b3RoZXI=' },
      );
      const changedRequest = { ...signedRequest, body: signedRequest.body.replace('2', '3') };
      const usesToken = name === 'token' || name === 'telegram';
      for (const invalidRequest of [
        otherSecretRequest,
        { ...signedRequest, headers: JSON_HEADERS },
        ...(usesToken ? [] : [changedRequest]),
      ]) {
        const response = await api.send(hook.path, invalidRequest);
        expect(response).toMatchObject({ status: 401, body: { error: { code: 'UNAUTHORIZED' } } });
      }
      expect(await api.runsOf(hook.workflowId)).toHaveLength(runCount);
    });
  });

  it('of Circleback start a run for each signed delivery, even if a meeting is sent again', async () => {
    const { type, fields, createRequest } = CIRCLEBACK;
    const hook = await api.deployWebhook(fields, { type });
    const meeting = {
      ...{ id: 4711, name: 'Weekly', notes: '## Looms', attendees: [{ name: 'Ada', email: null }] },
      ...{ actionItems: [{ id: 1, title: 'Order yarn', status: 'PENDING' }], transcript: [] },
    };
    const signedRequest = createRequest(meeting, { id: '', nowMs: api.now.ms });
    const responses = [await api.send(hook.path, signedRequest), await api.send(hook.path, signedRequest)];
    expect(responses.map(({ status }) => status)).toEqual([200, 200]);
    for (const { body } of responses)
      expect(await api.readTriggerOutput(body['runId'])).toMatchObject(meeting);
    const forgedRequest = createRequest(meeting, { id: '', nowMs: api.now.ms, secret: 'whsec_other' });
    const changedRequest = { ...signedRequest, body: signedRequest.body.replace('4711', '4712') };
    for (const invalidRequest of [forgedRequest, changedRequest, createJsonRequest(meeting)])
      expect(await api.send(hook.path, invalidRequest)).toMatchObject({ status: 401 });
    expect(await api.runsOf(hook.workflowId)).toHaveLength(2);
  });

  it('with verifyTestEvents answer test requests without starting a run', async () => {
    const hook = await api.deployWebhook({ token: '{{TOKEN}}', verifyTestEvents: true });
    for (const testRequest of [{ method: 'GET' }, createJsonRequest({}), { body: '' }, { body: ' { } ' }])
      expect(await api.send(hook.path, testRequest)).toMatchObject({ status: 200, body: { success: true } });
    expect(await api.runsOf(hook.workflowId)).toEqual([]);
    expect(await api.send(hook.path, createJsonRequest({ n: 1 }))).toMatchObject({ status: 401 });
    expect(await api.send(hook.path, { body: '[]' })).toMatchObject({ status: 401 });
    const hookWithoutTestEvents = await api.deployWebhook({ token: '{{TOKEN}}' });
    expect(await api.send(hookWithoutTestEvents.path, createJsonRequest({}))).toMatchObject({ status: 401 });
  });

  it('refuse deliveries whose signature is too old or in the future', async () => {
    for (const name of ['slack', 'stripe', 'linear', 'standard']) {
      const { type, fields, createRequest } = PROVIDERS[name]!;
      const hook = await api.deployWebhook(fields, { type });
      const signedRequest = createRequest({}, { id: 'old', nowMs: START_TIME_MS });
      api.now.ms = START_TIME_MS + 301_000;
      expect(await api.send(hook.path, signedRequest), name).toMatchObject({ status: 401 });
      api.now.ms = START_TIME_MS - 301_000;
      expect(await api.send(hook.path, signedRequest), name).toMatchObject({ status: 401 });
      api.now.ms = START_TIME_MS;
      expect(await api.send(hook.path, signedRequest), name).toMatchObject({ status: 200 });
    }
  });

  it('accept each of several secrets, and nothing if the secret has no value', async () => {
    const { path } = await api.deployWebhook({ token: '{{ROTATED}}' });
    const createTokenRequest = (secret: string) => ({
      ...createJsonRequest({}),
      headers: { ...JSON_HEADERS, Authorization: `Bearer ${secret}` },
    });
    expect((await api.send(path, createTokenRequest('new secret'))).status).toBe(200);
    expect((await api.send(path, createTokenRequest('old secret'))).status).toBe(200);
    expect((await api.send(path, createTokenRequest(SECRETS['ROTATED']!.replace('\n', ' ')))).status).toBe(
      401,
    );
    const hookWithoutSecret = await api.deployWebhook({ token: '{{NOT_THERE}}' });
    for (const secret of ['', '{{NOT_THERE}}', 'undefined'])
      expect((await api.send(hookWithoutSecret.path, createTokenRequest(secret))).status).toBe(401);
    // The name of a property of Object is not a secret with a value.
    const prototypeHook = await api.deployWebhook({ token: '{{constructor}}' });
    expect((await api.send(prototypeHook.path, createTokenRequest(String(Object)))).status).toBe(401);
  });

  it('start a run for each delivery without an id', async () => {
    const { workflowId, path } = await api.deployWebhook({});
    const responses = [
      await api.send(path, createJsonRequest({ a: 1 })),
      await api.send(path, createJsonRequest({ a: 1 })),
    ];
    expect(new Set(responses.map(({ body }) => body['runId'])).size).toBe(2);
    expect(await api.deliveriesOf(workflowId)).toHaveLength(2);
    const keyedRequest = {
      ...createJsonRequest({ a: 1 }),
      headers: { ...JSON_HEADERS, 'Idempotency-Key': 'k' },
    };
    const keyedResponses = [await api.send(path, keyedRequest), await api.send(path, keyedRequest)];
    expect(keyedResponses[1]!.body).toEqual({ ...keyedResponses[0]!.body, duplicate: true });
  });

  it('answer handshakes without starting a run', async () => {
    const slack = PROVIDERS['slack']!;
    const slackHook = await api.deployWebhook(slack.fields, { type: 'slack' });
    const body = { type: 'url_verification', challenge: 'abc' };
    const signedRequest = slack.createRequest(body, { id: 'x', nowMs: api.now.ms });
    expect(await api.send(slackHook.path, signedRequest)).toMatchObject({
      status: 200,
      body: { challenge: 'abc' },
    });
    expect((await api.send(slackHook.path, createJsonRequest(body))).status).toBe(401);
    const github = PROVIDERS['github']!;
    const githubHook = await api.deployWebhook(github.fields, { type: 'github_v2' });
    const pingRequest = github.createRequest({ zen: 'Keep it' }, { id: 'p', nowMs: api.now.ms });
    const headers = { ...pingRequest.headers, 'X-GitHub-Event': 'ping' };
    expect(await api.send(githubHook.path, { ...pingRequest, headers })).toMatchObject({
      status: 200,
      body: { ok: true },
    });
    expect([
      ...(await api.runsOf(slackHook.workflowId)),
      ...(await api.runsOf(githubHook.workflowId)),
    ]).toEqual([]);
  });

  it('start runs only for the event that the block has selected', async () => {
    const { type, createRequest } = PROVIDERS['github']!;
    const hook = await api.deployWebhook({ selectedTriggerId: 'github_pr_opened' }, { type });
    const send = (event: string, body: object, id: string) => {
      const signedRequest = createRequest(body, { id, nowMs: api.now.ms });
      return api.send(hook.path, {
        ...signedRequest,
        headers: { ...signedRequest.headers, 'X-GitHub-Event': event },
      });
    };
    const ignoredResponse = { status: 200, body: { success: true, ignored: true } };
    expect(await send('push', { ref: 'main' }, '1')).toMatchObject(ignoredResponse);
    expect(await send('pull_request', { action: 'closed' }, '2')).toMatchObject(ignoredResponse);
    const openedResponse = await send(
      'pull_request',
      { action: 'opened', pull_request: { title: 'New' } },
      '3',
    );
    expect(await api.readTriggerOutput(openedResponse.body['runId'])).toMatchObject({
      event_type: 'pull_request',
      pull_request: { title: 'New' },
    });
    expect(await api.runsOf(hook.workflowId)).toHaveLength(1);
    const { data } = await api.call<{ refusals: object[] }[]>(
      'GET',
      `/api/v2/webhooks?workspaceId=${api.workspaceId}&workflowId=${hook.workflowId}`,
    );
    expect(data[0]?.refusals).toEqual(
      expect.arrayContaining([expect.objectContaining({ reason: 'EVENT_IGNORED push', count: 1 })]),
    );
  });

  it('answer with the same 404 as unknown paths while they are paused, suspended, archived or not live', async () => {
    const hook = await api.deployWebhook({});
    const fetchResponseJson = async (path = hook.path, options = {}) => {
      const { status, body } = await api.send(path, { ...createJsonRequest({}), ...options });
      return JSON.stringify({ status, body });
    };
    const unknownPathResponseJson = await fetchResponseJson('/api/webhooks/trigger/wh_unknown');
    expect(JSON.parse(unknownPathResponseJson)).toEqual({
      status: 404,
      body: { error: { code: 'NOT_FOUND', message: 'Not found' } },
    });
    expect(await fetchResponseJson('/api/webhooks/trigger/')).toBe(unknownPathResponseJson);
    expect(await fetchResponseJson('/api/webhooks/trigger/a%00b')).toBe(unknownPathResponseJson);
    expect(await fetchResponseJson(`${hook.path}/more`)).toBe(unknownPathResponseJson);
    expect(await fetchResponseJson(hook.path, { method: 'PUT' })).toBe(unknownPathResponseJson);
    const { data } = await api.call<{ id: string }[]>(
      'GET',
      `/api/v2/webhooks?workspaceId=${api.workspaceId}&workflowId=${hook.workflowId}`,
    );
    const triggerPath = `/api/v2/triggers/${data[0]?.id}`;
    await api.call('POST', `${triggerPath}/pause`);
    expect(await fetchResponseJson()).toBe(unknownPathResponseJson);
    await api.call('POST', `${triggerPath}/resume`);
    expect(JSON.parse(await fetchResponseJson())).toMatchObject({ status: 200 });
    await api.db
      .updateTable('triggers')
      .set({ state: 'suspended' })
      .where('workflow_id', '=', hook.workflowId)
      .execute();
    expect(await fetchResponseJson()).toBe(unknownPathResponseJson);
    await api.call('POST', `${triggerPath}/resume`);
    await api.call('DELETE', `/api/v2/workflows/${hook.workflowId}/deploy`);
    expect(await fetchResponseJson()).toBe(unknownPathResponseJson);
    await api.call('POST', `/api/v2/workflows/${hook.workflowId}/deploy`);
    expect(await api.pathOf(hook.workflowId)).toBe(hook.path);
    expect(JSON.parse(await fetchResponseJson())).toMatchObject({ status: 200 });
    await api.call('DELETE', `/api/v2/workflows/${hook.workflowId}`);
    expect(await fetchResponseJson()).toBe(unknownPathResponseJson);
    await api.call('POST', `/api/v2/workflows/${hook.workflowId}/restore`);
    expect(JSON.parse(await fetchResponseJson())).toMatchObject({ status: 200 });
  });

  it('show nothing to other workspaces', async () => {
    const hook = await api.deployWebhook({ token: 'literal secret' });
    const authorizedRequest = {
      ...createJsonRequest({ a: 1 }),
      headers: { ...JSON_HEADERS, Authorization: 'Bearer literal secret' },
    };
    await api.send(hook.path, authorizedRequest);
    const query = `workspaceId=${api.workspaceId}&workflowId=${hook.workflowId}`;
    const { data } = await api.call<{ id: string }[]>('GET', `/api/v2/webhooks?${query}`);
    const deliveriesPath = `/api/v2/webhooks/${data[0]?.id}/deliveries`;
    const deliveries = await api.call<{ id: string; runId: string }[]>('GET', deliveriesPath);
    const [firstDelivery] = deliveries.data;
    const otherApi = await openWebhookApi(store, { engine: api.engine, store: api.store });
    expect((await otherApi.call('GET', `/api/v2/webhooks?${query}`)).status).toBe(404);
    expect((await otherApi.call('GET', deliveriesPath)).status).toBe(404);
    expect((await otherApi.call('POST', `${deliveriesPath}/${firstDelivery?.id}/replay`)).status).toBe(404);
    const trigger = await api.call('GET', `/api/v2/triggers/${data[0]?.id}`);
    expect(JSON.stringify([data, deliveries.body, trigger.body])).not.toContain('literal secret');
    // A delivery cannot be replayed through another webhook.
    const otherHook = await api.deployWebhook({});
    const { data: otherWebhooks } = await api.call<{ id: string }[]>(
      'GET',
      `/api/v2/webhooks?workspaceId=${api.workspaceId}&workflowId=${otherHook.workflowId}`,
    );
    const wrongPath = `/api/v2/webhooks/${otherWebhooks[0]?.id}/deliveries/${firstDelivery?.id}/replay`;
    expect((await api.call('POST', wrongPath)).status).toBe(404);
  });

  it('answer with the output of the Response block, even to a duplicate delivery', async () => {
    const fields = { responseMode: 'wait', idempotencyField: 'id' };
    const data = { id: 'data', type: 'code', value: '{"sum": "<clock.n>"}' };
    const status = { id: 'status', type: 'short-input', value: '418' };
    const lastBlock = {
      type: 'response',
      subBlocks: { data, status, dataMode: { id: 'dataMode', type: 'dropdown', value: 'json' } },
    };
    const hook = await api.deployWebhook(fields, { lastBlock });
    const responses = [
      await api.send(hook.path, createJsonRequest({ id: 1, n: 7 })),
      await api.send(hook.path, createJsonRequest({ id: 1, n: 7 })),
    ];
    for (const response of responses) expect(response).toMatchObject({ status: 418, body: { sum: '7' } });
    expect(await api.runsOf(hook.workflowId)).toHaveLength(1);
    const plainHook = await api.deployWebhook({ responseMode: 'wait' });
    expect(await api.send(plainHook.path, createJsonRequest({}))).toMatchObject({
      status: 200,
      body: { success: true },
    });
  });

  it('store the files of declared fields', async () => {
    const hook = await api.deployWebhook({ inputFormat: [{ name: 'docs', type: 'file[]' }] });
    const body = new FormData();
    body.append('docs', new File(['one'], 'one.txt', { type: 'text/plain' }));
    const response = await api.send(hook.path, { body });
    const input = await api.readTriggerOutput(response.body['runId']);
    expect(input).toMatchObject({
      docs: [{ name: 'one.txt', type: 'text/plain', size: 3, key: expect.any(String) }],
    });
  });

  it('are listed with their last delivery and refusals, with a constant number of queries', async () => {
    const hooks = [
      await api.deployWebhook({ token: '{{TOKEN}}' }),
      await api.deployWebhook({ token: '{{TOKEN}}' }),
    ];
    const bearerHeaders = { ...JSON_HEADERS, Authorization: `Bearer ${SECRETS['TOKEN']}` };
    for (const { path } of hooks) {
      await api.send(path, { headers: bearerHeaders, body: '{}' });
      await api.send(path, { headers: bearerHeaders, body: '{}' });
      await api.send(path, createJsonRequest({}));
    }
    const listResponse = await api.call<{ workflowId: string }[]>(
      'GET',
      `/api/v2/webhooks?workspaceId=${api.workspaceId}&limit=100`,
    );
    const listedWebhooks = hooks.map((hook) =>
      listResponse.data.find(({ workflowId }) => workflowId === hook.workflowId),
    );
    // Both deliveries have the same time, so the one with the greater id is the last.
    const lastRunIds = await Promise.all(
      hooks.map(
        async ({ workflowId }) =>
          (await api.deliveriesOf(workflowId)).toSorted((a, b) => (a.id < b.id ? 1 : -1))[0]?.run_id,
      ),
    );
    expect(listedWebhooks).toMatchObject(
      hooks.map(({ path }, index) => ({
        ...{ url: expect.stringContaining(path), lastRunId: lastRunIds[index] },
        refusals: [{ reason: expect.any(String), count: 1 }],
      })),
    );
    let queryCount = 0;
    const countingDb = api.db.withPlugin({
      transformQuery({ node }) {
        queryCount += 1;
        return node;
      },
      transformResult: ({ result }) => Promise.resolve(result),
    });
    const triggerRows = (await selectDeployedTriggers(api.db as never).execute()).flatMap(
      (row) => toDeployedTrigger(row) ?? [],
    );
    const queryCounts = [];
    for (const rowSample of [triggerRows.slice(0, 1), triggerRows]) {
      queryCount = 0;
      const types = new Map(triggerTypes.map((type) => [type.type, type]));
      await webhookViews({ db: countingDb, types } as never, rowSample, '');
      queryCounts.push(queryCount);
    }
    expect(triggerRows.length).toBeGreaterThan(2);
    expect(queryCounts).toEqual([4, 4]);
  });

  it('delete deliveries after their retention period', async () => {
    const hook = await api.deployWebhook({ idempotencyField: 'id' });
    await api.send(hook.path, createJsonRequest({ id: 'a' }));
    await sweepDeliveries(api.db, api.now.ms);
    expect(await api.deliveriesOf(hook.workflowId)).toHaveLength(1);
    await sweepDeliveries(api.db, api.now.ms + 1);
    expect(await api.deliveriesOf(hook.workflowId)).toEqual([]);
    expect((await api.send(hook.path, createJsonRequest({ id: 'a' }))).body['duplicate']).toBeUndefined();
  });

  it('replay a delivery with its input, on the live version', async () => {
    const hook = await api.deployWebhook({});
    const firstResponse = await api.send(hook.path, { ...createJsonRequest({ n: 7 }), query: '?from=here' });
    await api.readTriggerOutput(firstResponse.body['runId']);
    const { data } = await api.call<{ id: string }[]>(
      'GET',
      `/api/v2/webhooks?workspaceId=${api.workspaceId}&workflowId=${hook.workflowId}`,
    );
    const deliveriesPath = `/api/v2/webhooks/${data[0]?.id}/deliveries`;
    const { data: deliveriesBefore } = await api.call<{ id: string }[]>('GET', deliveriesPath);
    const replayResponse = await api.call<{ runId: string }>(
      'POST',
      `${deliveriesPath}/${deliveriesBefore[0]?.id}/replay`,
    );
    expect(replayResponse).toMatchObject({ status: 202, data: { workflowId: hook.workflowId } });
    expect(replayResponse.data.runId).not.toBe(firstResponse.body['runId']);
    expect(await api.readTriggerOutput(replayResponse.data.runId)).toMatchObject({
      n: 7,
      query: { from: 'here' },
    });
    const { data: deliveriesAfter } = await api.call<object[]>('GET', deliveriesPath);
    expect(deliveriesAfter).toHaveLength(2);
    expect(deliveriesAfter).toContainEqual(
      expect.objectContaining({ replayOf: deliveriesBefore[0]?.id, deliveryId: null }),
    );
    expect(api.reportedErrors).toEqual([]);
  });
});
