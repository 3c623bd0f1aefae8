import { beforeAll, describe, expect, it } from 'vitest';
import { storesToTest } from '../support/postgres.ts';
import { createJsonRequest, JSON_HEADERS, openWebhookApi, createWebhookWorkflow } from './webhook-setup.ts';
import type { WebhookApi } from './webhook-setup.ts';

describe.each(storesToTest('paths of webhooks'))('webhooks on %s', (store) => {
  let api: WebhookApi;

  beforeAll(async () => {
    api = await openWebhookApi(store);
  });

  it('keep their path in another version, and use the secret of that version', async () => {
    const hook = await api.deployWebhook({ token: 'one' });
    await api.editFields(hook.workflowId, { token: 'two' });
    const createTokenRequest = (token: string) => ({
      ...createJsonRequest({}),
      headers: { ...JSON_HEADERS, Authorization: `Bearer ${token}` },
    });
    expect((await api.send(hook.path, createTokenRequest('one'))).status).toBe(200);
    await api.call('POST', `/api/v2/workflows/${hook.workflowId}/deploy`);
    expect(await api.pathOf(hook.workflowId)).toBe(hook.path);
    expect((await api.send(hook.path, createTokenRequest('one'))).status).toBe(401);
    expect((await api.send(hook.path, createTokenRequest('two'))).status).toBe(200);
    await api.call('POST', `/api/v2/workflows/${hook.workflowId}/versions/1/activate`);
    expect((await api.send(hook.path, createTokenRequest('two'))).status).toBe(401);
    expect((await api.send(hook.path, createTokenRequest('one'))).status).toBe(200);
    expect(
      (await api.deliveriesOf(hook.workflowId)).map(({ version }) => version).toSorted((a, b) => a - b),
    ).toEqual([1, 1, 2]);
  });

  it('have the path that their author has chosen, which no other webhook can use', async () => {
    const triggerPath = `orders-${crypto.randomUUID().slice(0, 8)}`;
    const hook = await api.deployWebhook({ triggerPath });
    expect(hook.path).toBe(`/api/webhooks/trigger/${triggerPath}`);
    const deploy = async (targetApi: WebhookApi) => {
      const id = await targetApi.createDraft(createWebhookWorkflow({ triggerPath }));
      return targetApi.call('POST', `/api/v2/workflows/${id}/deploy`);
    };
    expect(await deploy(api)).toMatchObject({
      status: 409,
      body: { error: { message: `Webhook path already in use: ${triggerPath}` } },
    });
    const otherApi = await openWebhookApi(store, { engine: api.engine, store: api.store });
    expect((await deploy(otherApi)).status).toBe(409);
    // The path stays reserved for its workspace, because the sender may still use it.
    await api.call('DELETE', `/api/v2/workflows/${hook.workflowId}/deploy`);
    expect((await deploy(otherApi)).status).toBe(409);
    expect((await deploy(api)).status).toBe(200);
    expect((await api.send(hook.path, createJsonRequest({}))).status).toBe(200);
    expect(await api.runsOf(hook.workflowId)).toEqual([]);
  });

  it('get a random path when their author removes a chosen one, and keep that path', async () => {
    // The chosen path looks like a random one to a pattern in which `_` stands for any character.
    const hook = await api.deployWebhook({ triggerPath: `whooks-${crypto.randomUUID().slice(0, 8)}` });
    const paths = [];
    for (let version = 2; version <= 3; version++) {
      await api.editFields(hook.workflowId, {});
      await api.call('POST', `/api/v2/workflows/${hook.workflowId}/deploy`);
      paths.push(await api.pathOf(hook.workflowId));
    }
    expect(paths[0]).toMatch(/\/wh_[\w-]{32}$/);
    expect(paths[1]).toBe(paths[0]);
  });
});
