import { triggerTypes } from '@heddle/blocks/triggers';
import { beforeAll, describe, expect, it } from 'vitest';
import { sweepDeliveries } from '../../packages/service/src/triggers/webhooks/area.ts';
import { toDeployedTrigger, selectDeployedTriggers } from '../../packages/service/src/triggers/views.ts';
import { webhookViews } from '../../packages/service/src/triggers/webhooks/views.ts';
import {
  CIRCLEBACK,
  JSON_TYPE,
  PROVIDERS,
  SECRETS,
  START_MS,
  webhookApi,
  webhookWorkflow,
} from './webhook-setup.ts';
import type { WebhookApi } from './webhook-setup.ts';
import { storesToTest } from '../support/postgres.ts';

describe.each(storesToTest('webhooks'))('webhooks on %s', (store) => {
  let api: WebhookApi;

  beforeAll(async () => {
    api = await webhookApi(store);
  });

  const deliveriesOf = (id: string) =>
    api.db.selectFrom('webhook_deliveries').selectAll().where('workflow_id', '=', id).execute();
  const runsOf = (id: string) =>
    api.db.selectFrom('claims').selectAll().where('workflow_id', '=', id).execute();
  const json = (body: object) => ({ headers: JSON_TYPE, body: JSON.stringify(body) });

  describe.each(Object.entries(PROVIDERS))('signed like %s', (name, { type, fields, request }) => {
    let hook: { id: string; path: string };

    beforeAll(async () => {
      hook = await api.deployWebhook(fields, { type });
    });

    it('start a run with the payload', async () => {
      const response = await api.send(hook.path, request({ hello: 'you' }, { id: 'one', nowMs: api.now.ms }));
      expect(response).toMatchObject({ status: 200, body: { success: true, runId: expect.any(String) } });
      expect(await api.readTriggerOutput(response.body['runId'])).toMatchObject({ hello: 'you' });
      const [run] = await runsOf(hook.id);
      expect(run).toMatchObject({ engine_id: response.body['runId'], trigger: 'webhook' });
    });

    it('start one run for several deliveries with one id, even if they are concurrent', async () => {
      const sent = request({ n: 1 }, { id: 'twice', nowMs: api.now.ms });
      const responses = await Promise.all(Array.from({ length: 8 }, () => api.send(hook.path, sent)));
      const runIds = new Set(responses.map(({ body }) => body['runId']));
      expect(responses.map(({ status }) => status)).toEqual(responses.map(() => 200));
      expect(runIds.size).toBe(1);
      expect(responses.filter(({ body }) => body['duplicate'] === true)).toHaveLength(7);
      const stored = (await deliveriesOf(hook.id)).filter((row) => row.delivery_id === 'twice');
      expect(stored).toMatchObject([{ run_id: [...runIds][0], duplicates: 7 }]);
      // The same body with another id is another delivery.
      const other = await api.send(hook.path, request({ n: 1 }, { id: 'thrice', nowMs: api.now.ms }));
      expect(runIds.has(other.body['runId'])).toBe(false);
    });

    it('start no run for a wrong secret, a changed body, or a missing signature', async () => {
      const before = (await runsOf(hook.id)).length;
      const signed = request({ n: 2 }, { id: 'bad', nowMs: api.now.ms });
      const other = request({ n: 2 }, { id: 'bad', nowMs: api.now.ms, secret: 'whsec_b3RoZXI=' });
      const changed = { ...signed, body: signed.body.replace('2', '3') };
      const isToken = name === 'token' || name === 'telegram';
      for (const sent of [other, { ...signed, headers: JSON_TYPE }, ...(isToken ? [] : [changed])]) {
        const response = await api.send(hook.path, sent);
        expect(response).toMatchObject({ status: 401, body: { error: { code: 'UNAUTHORIZED' } } });
      }
      expect(await runsOf(hook.id)).toHaveLength(before);
    });
  });

  it('of Circleback start a run for each signed delivery, even if a meeting is sent again', async () => {
    const { type, fields, request } = CIRCLEBACK;
    const hook = await api.deployWebhook(fields, { type });
    const meeting = {
      ...{ id: 4711, name: 'Weekly', notes: '## Looms', attendees: [{ name: 'Ada', email: null }] },
      ...{ actionItems: [{ id: 1, title: 'Order yarn', status: 'PENDING' }], transcript: [] },
    };
    const sent = request(meeting, { id: '', nowMs: api.now.ms });
    const responses = [await api.send(hook.path, sent), await api.send(hook.path, sent)];
    expect(responses.map(({ status }) => status)).toEqual([200, 200]);
    for (const { body } of responses)
      expect(await api.readTriggerOutput(body['runId'])).toMatchObject(meeting);
    const forged = request(meeting, { id: '', nowMs: api.now.ms, secret: 'whsec_other' });
    const changed = { ...sent, body: sent.body.replace('4711', '4712') };
    for (const other of [forged, changed, json(meeting)])
      expect(await api.send(hook.path, other)).toMatchObject({ status: 401 });
    expect(await runsOf(hook.id)).toHaveLength(2);
  });

  it('with verifyTestEvents answer test requests without starting a run', async () => {
    const hook = await api.deployWebhook({ token: '{{TOKEN}}', verifyTestEvents: true });
    for (const test of [{ method: 'GET' }, json({}), { body: '' }, { body: ' { } ' }])
      expect(await api.send(hook.path, test)).toMatchObject({ status: 200, body: { success: true } });
    expect(await runsOf(hook.id)).toEqual([]);
    expect(await api.send(hook.path, json({ n: 1 }))).toMatchObject({ status: 401 });
    expect(await api.send(hook.path, { body: '[]' })).toMatchObject({ status: 401 });
    const withoutTests = await api.deployWebhook({ token: '{{TOKEN}}' });
    expect(await api.send(withoutTests.path, json({}))).toMatchObject({ status: 401 });
  });

  it('refuse deliveries whose signature is too old or in the future', async () => {
    for (const name of ['slack', 'stripe', 'linear', 'standard']) {
      const { type, fields, request } = PROVIDERS[name]!;
      const hook = await api.deployWebhook(fields, { type });
      const sent = request({}, { id: 'old', nowMs: START_MS });
      api.now.ms = START_MS + 301_000;
      expect(await api.send(hook.path, sent), name).toMatchObject({ status: 401 });
      api.now.ms = START_MS - 301_000;
      expect(await api.send(hook.path, sent), name).toMatchObject({ status: 401 });
      api.now.ms = START_MS;
      expect(await api.send(hook.path, sent), name).toMatchObject({ status: 200 });
    }
  });

  it('accept each of several secrets, and nothing if the secret has no value', async () => {
    const { path } = await api.deployWebhook({ token: '{{ROTATED}}' });
    const withToken = (secret: string) => ({
      ...json({}),
      headers: { ...JSON_TYPE, Authorization: `Bearer ${secret}` },
    });
    expect((await api.send(path, withToken('new secret'))).status).toBe(200);
    expect((await api.send(path, withToken('old secret'))).status).toBe(200);
    expect((await api.send(path, withToken(SECRETS['ROTATED']!.replace('\n', ' ')))).status).toBe(401);
    const missing = await api.deployWebhook({ token: '{{NOT_THERE}}' });
    for (const secret of ['', '{{NOT_THERE}}', 'undefined'])
      expect((await api.send(missing.path, withToken(secret))).status).toBe(401);
    // The name of a property of Object is not a secret with a value.
    const prototypeHook = await api.deployWebhook({ token: '{{constructor}}' });
    expect((await api.send(prototypeHook.path, withToken(String(Object)))).status).toBe(401);
  });

  it('start a run for each delivery without an id', async () => {
    const { id, path } = await api.deployWebhook({});
    const responses = [await api.send(path, json({ a: 1 })), await api.send(path, json({ a: 1 }))];
    expect(new Set(responses.map(({ body }) => body['runId'])).size).toBe(2);
    expect(await deliveriesOf(id)).toHaveLength(2);
    const keyed = { ...json({ a: 1 }), headers: { ...JSON_TYPE, 'Idempotency-Key': 'k' } };
    const keyedResponses = [await api.send(path, keyed), await api.send(path, keyed)];
    expect(keyedResponses[1]!.body).toEqual({ ...keyedResponses[0]!.body, duplicate: true });
  });

  it('answer handshakes without starting a run', async () => {
    const slack = PROVIDERS['slack']!;
    const slackHook = await api.deployWebhook(slack.fields, { type: 'slack' });
    const body = { type: 'url_verification', challenge: 'abc' };
    const sent = slack.request(body, { id: 'x', nowMs: api.now.ms });
    expect(await api.send(slackHook.path, sent)).toMatchObject({ status: 200, body: { challenge: 'abc' } });
    expect((await api.send(slackHook.path, json(body))).status).toBe(401);
    const github = PROVIDERS['github']!;
    const githubHook = await api.deployWebhook(github.fields, { type: 'github_v2' });
    const ping = github.request({ zen: 'Keep it' }, { id: 'p', nowMs: api.now.ms });
    const headers = { ...ping.headers, 'X-GitHub-Event': 'ping' };
    expect(await api.send(githubHook.path, { ...ping, headers })).toMatchObject({
      status: 200,
      body: { ok: true },
    });
    expect([...(await runsOf(slackHook.id)), ...(await runsOf(githubHook.id))]).toEqual([]);
  });

  it('start runs only for the event that the block has selected', async () => {
    const { type, request } = PROVIDERS['github']!;
    const hook = await api.deployWebhook({ selectedTriggerId: 'github_pr_opened' }, { type });
    const send = (event: string, body: object, id: string) => {
      const sent = request(body, { id, nowMs: api.now.ms });
      return api.send(hook.path, { ...sent, headers: { ...sent.headers, 'X-GitHub-Event': event } });
    };
    const ignored = { status: 200, body: { success: true, ignored: true } };
    expect(await send('push', { ref: 'main' }, '1')).toMatchObject(ignored);
    expect(await send('pull_request', { action: 'closed' }, '2')).toMatchObject(ignored);
    const opened = await send('pull_request', { action: 'opened', pull_request: { title: 'New' } }, '3');
    expect(await api.readTriggerOutput(opened.body['runId'])).toMatchObject({
      event_type: 'pull_request',
      pull_request: { title: 'New' },
    });
    expect(await runsOf(hook.id)).toHaveLength(1);
    const { data } = await api.call<{ refusals: object[] }[]>(
      'GET',
      `/api/v2/webhooks?workspaceId=${api.workspaceId}&workflowId=${hook.id}`,
    );
    expect(data[0]?.refusals).toEqual(
      expect.arrayContaining([expect.objectContaining({ reason: 'EVENT_IGNORED push', count: 1 })]),
    );
  });

  it('answer with the same 404 as unknown paths while they are paused, suspended, archived or not live', async () => {
    const hook = await api.deployWebhook({});
    const responseOf = async (path = hook.path, options = {}) => {
      const { status, body } = await api.send(path, { ...json({}), ...options });
      return JSON.stringify({ status, body });
    };
    const unknown = await responseOf('/api/webhooks/trigger/wh_unknown');
    expect(JSON.parse(unknown)).toEqual({
      status: 404,
      body: { error: { code: 'NOT_FOUND', message: 'Not found' } },
    });
    expect(await responseOf('/api/webhooks/trigger/')).toBe(unknown);
    expect(await responseOf('/api/webhooks/trigger/a%00b')).toBe(unknown);
    expect(await responseOf(`${hook.path}/more`)).toBe(unknown);
    expect(await responseOf(hook.path, { method: 'PUT' })).toBe(unknown);
    const { data } = await api.call<{ id: string }[]>(
      'GET',
      `/api/v2/webhooks?workspaceId=${api.workspaceId}&workflowId=${hook.id}`,
    );
    const triggerPath = `/api/v2/triggers/${data[0]?.id}`;
    await api.call('POST', `${triggerPath}/pause`);
    expect(await responseOf()).toBe(unknown);
    await api.call('POST', `${triggerPath}/resume`);
    expect(JSON.parse(await responseOf())).toMatchObject({ status: 200 });
    await api.db
      .updateTable('triggers')
      .set({ state: 'suspended' })
      .where('workflow_id', '=', hook.id)
      .execute();
    expect(await responseOf()).toBe(unknown);
    await api.call('POST', `${triggerPath}/resume`);
    await api.call('DELETE', `/api/v2/workflows/${hook.id}/deploy`);
    expect(await responseOf()).toBe(unknown);
    await api.call('POST', `/api/v2/workflows/${hook.id}/deploy`);
    expect(await api.pathOf(hook.id)).toBe(hook.path);
    expect(JSON.parse(await responseOf())).toMatchObject({ status: 200 });
    await api.call('DELETE', `/api/v2/workflows/${hook.id}`);
    expect(await responseOf()).toBe(unknown);
    await api.call('POST', `/api/v2/workflows/${hook.id}/restore`);
    expect(JSON.parse(await responseOf())).toMatchObject({ status: 200 });
  });

  it('keep their path in another version, and use the secret of that version', async () => {
    const hook = await api.deployWebhook({ token: 'one' });
    await api.editFields(hook.id, { token: 'two' });
    const withToken = (token: string) => ({
      ...json({}),
      headers: { ...JSON_TYPE, Authorization: `Bearer ${token}` },
    });
    expect((await api.send(hook.path, withToken('one'))).status).toBe(200);
    await api.call('POST', `/api/v2/workflows/${hook.id}/deploy`);
    expect(await api.pathOf(hook.id)).toBe(hook.path);
    expect((await api.send(hook.path, withToken('one'))).status).toBe(401);
    expect((await api.send(hook.path, withToken('two'))).status).toBe(200);
    await api.call('POST', `/api/v2/workflows/${hook.id}/versions/1/activate`);
    expect((await api.send(hook.path, withToken('two'))).status).toBe(401);
    expect((await api.send(hook.path, withToken('one'))).status).toBe(200);
    expect((await deliveriesOf(hook.id)).map(({ version }) => version).toSorted((a, b) => a - b)).toEqual([
      1, 1, 2,
    ]);
  });

  it('have the path that their author has chosen, which no other webhook can use', async () => {
    const triggerPath = `orders-${crypto.randomUUID().slice(0, 8)}`;
    const hook = await api.deployWebhook({ triggerPath });
    expect(hook.path).toBe(`/api/webhooks/trigger/${triggerPath}`);
    const deploy = async (target: WebhookApi) => {
      const id = await target.createDraft(webhookWorkflow({ triggerPath }));
      return target.call('POST', `/api/v2/workflows/${id}/deploy`);
    };
    expect(await deploy(api)).toMatchObject({
      status: 409,
      body: { error: { message: `Webhook path already in use: ${triggerPath}` } },
    });
    const otherApi = await webhookApi(store, { engine: api.engine, store: api.store });
    expect((await deploy(otherApi)).status).toBe(409);
    // The path stays reserved for its workspace, because the sender may still use it.
    await api.call('DELETE', `/api/v2/workflows/${hook.id}/deploy`);
    expect((await deploy(otherApi)).status).toBe(409);
    expect((await deploy(api)).status).toBe(200);
    expect((await api.send(hook.path, json({}))).status).toBe(200);
    expect(await runsOf(hook.id)).toEqual([]);
  });

  it('get a random path when their author removes a chosen one, and keep that path', async () => {
    // The chosen path looks like a random one to a pattern in which `_` stands for any character.
    const hook = await api.deployWebhook({ triggerPath: `whooks-${crypto.randomUUID().slice(0, 8)}` });
    const paths = [];
    for (let version = 2; version <= 3; version++) {
      await api.editFields(hook.id, {});
      await api.call('POST', `/api/v2/workflows/${hook.id}/deploy`);
      paths.push(await api.pathOf(hook.id));
    }
    expect(paths[0]).toMatch(/\/wh_[\w-]{32}$/);
    expect(paths[1]).toBe(paths[0]);
  });

  it('show nothing to other workspaces', async () => {
    const hook = await api.deployWebhook({ token: 'literal secret' });
    const sent = { ...json({ a: 1 }), headers: { ...JSON_TYPE, Authorization: 'Bearer literal secret' } };
    await api.send(hook.path, sent);
    const query = `workspaceId=${api.workspaceId}&workflowId=${hook.id}`;
    const { data } = await api.call<{ id: string }[]>('GET', `/api/v2/webhooks?${query}`);
    const deliveriesPath = `/api/v2/webhooks/${data[0]?.id}/deliveries`;
    const deliveries = await api.call<{ id: string; runId: string }[]>('GET', deliveriesPath);
    const [first] = deliveries.data;
    const otherApi = await webhookApi(store, { engine: api.engine, store: api.store });
    expect((await otherApi.call('GET', `/api/v2/webhooks?${query}`)).status).toBe(404);
    expect((await otherApi.call('GET', deliveriesPath)).status).toBe(404);
    expect((await otherApi.call('POST', `${deliveriesPath}/${first?.id}/replay`)).status).toBe(404);
    const trigger = await api.call('GET', `/api/v2/triggers/${data[0]?.id}`);
    expect(JSON.stringify([data, deliveries.body, trigger.body])).not.toContain('literal secret');
    // A delivery cannot be replayed through another webhook.
    const other = await api.deployWebhook({});
    const { data: otherWebhooks } = await api.call<{ id: string }[]>(
      'GET',
      `/api/v2/webhooks?workspaceId=${api.workspaceId}&workflowId=${other.id}`,
    );
    const wrongPath = `/api/v2/webhooks/${otherWebhooks[0]?.id}/deliveries/${first?.id}/replay`;
    expect((await api.call('POST', wrongPath)).status).toBe(404);
  });

  it('answer with the output of the Response block, even to a duplicate delivery', async () => {
    const fields = { responseMode: 'wait', idempotencyField: 'id' };
    const data = { id: 'data', type: 'code', value: '{"sum": "<clock.n>"}' };
    const status = { id: 'status', type: 'short-input', value: '418' };
    const last = {
      type: 'response',
      subBlocks: { data, status, dataMode: { id: 'dataMode', type: 'dropdown', value: 'json' } },
    };
    const hook = await api.deployWebhook(fields, { last });
    const responses = [
      await api.send(hook.path, json({ id: 1, n: 7 })),
      await api.send(hook.path, json({ id: 1, n: 7 })),
    ];
    for (const response of responses) expect(response).toMatchObject({ status: 418, body: { sum: '7' } });
    expect(await runsOf(hook.id)).toHaveLength(1);
    const plain = await api.deployWebhook({ responseMode: 'wait' });
    expect(await api.send(plain.path, json({}))).toMatchObject({ status: 200, body: { success: true } });
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
    const bearer = { ...JSON_TYPE, Authorization: `Bearer ${SECRETS['TOKEN']}` };
    for (const { path } of hooks) {
      await api.send(path, { headers: bearer, body: '{}' });
      await api.send(path, { headers: bearer, body: '{}' });
      await api.send(path, json({}));
    }
    const listed = await api.call<{ workflowId: string }[]>(
      'GET',
      `/api/v2/webhooks?workspaceId=${api.workspaceId}&limit=100`,
    );
    const rows = hooks.map(({ id }) => listed.data.find(({ workflowId }) => workflowId === id));
    // Both deliveries have the same time, so the one with the greater id is the last.
    const lastRunIds = await Promise.all(
      hooks.map(
        async ({ id }) => (await deliveriesOf(id)).toSorted((a, b) => (a.id < b.id ? 1 : -1))[0]?.run_id,
      ),
    );
    expect(rows).toMatchObject(
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
    await api.send(hook.path, json({ id: 'a' }));
    await sweepDeliveries(api.db, api.now.ms);
    expect(await deliveriesOf(hook.id)).toHaveLength(1);
    await sweepDeliveries(api.db, api.now.ms + 1);
    expect(await deliveriesOf(hook.id)).toEqual([]);
    expect((await api.send(hook.path, json({ id: 'a' }))).body['duplicate']).toBeUndefined();
  });

  it('replay a delivery with its input, on the live version', async () => {
    const hook = await api.deployWebhook({});
    const first = await api.send(hook.path, { ...json({ n: 7 }), query: '?from=here' });
    await api.readTriggerOutput(first.body['runId']);
    const { data } = await api.call<{ id: string }[]>(
      'GET',
      `/api/v2/webhooks?workspaceId=${api.workspaceId}&workflowId=${hook.id}`,
    );
    const deliveriesPath = `/api/v2/webhooks/${data[0]?.id}/deliveries`;
    const { data: before } = await api.call<{ id: string }[]>('GET', deliveriesPath);
    const replay = await api.call<{ runId: string }>('POST', `${deliveriesPath}/${before[0]?.id}/replay`);
    expect(replay).toMatchObject({ status: 202, data: { workflowId: hook.id } });
    expect(replay.data.runId).not.toBe(first.body['runId']);
    expect(await api.readTriggerOutput(replay.data.runId)).toMatchObject({ n: 7, query: { from: 'here' } });
    const { data: after } = await api.call<object[]>('GET', deliveriesPath);
    expect(after).toHaveLength(2);
    expect(after).toContainEqual(expect.objectContaining({ replayOf: before[0]?.id, deliveryId: null }));
    expect(api.faults).toEqual([]);
  });
});
