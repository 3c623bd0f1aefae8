import { triggerTypes } from '@heddle/blocks/triggers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HOOK_CREDENTIALS, startHookProviders } from '../../support/hook-providers.ts';
import type { HookProviders, SimulatedHook } from '../../support/hook-providers.ts';
import { storesToTest } from '../../support/postgres.ts';
import { HOOK_TYPES, openHookApi, ORIGIN } from './setup.ts';
import type { HookApi } from './setup.ts';

const DAY_MS = 24 * 3_600_000;
const GITHUB = HOOK_TYPES.github;

describe.each(storesToTest('registrations'))('webhook registrations on %s', (store) => {
  let providers: HookProviders;
  let api: HookApi;

  beforeAll(async () => {
    providers = await startHookProviders();
    api = await openHookApi(store, providers);
  });
  afterAll(() => providers.close());

  const auditActionsOf = async (id: string): Promise<string[]> => {
    const rows = await api.hookDb
      .selectFrom('audit')
      .selectAll()
      .where('resource_type', '=', 'trigger')
      .where('resource_id', '=', id)
      .orderBy('created_at')
      .execute();
    return rows.map(({ action }) => action);
  };

  describe.each(Object.entries(HOOK_TYPES))('the webhook at %s', (name, { type, fields, resource }) => {
    let id = '';

    it('is created with the deployment, and its deliveries start runs', async () => {
      id = await api.deployWebhookWorkflow(type, fields);
      const { latestDeploymentAttempt: attempt, webhooks } = await api.waitForStatus(id, 'active');
      expect(attempt).toMatchObject({ readiness: { webhooks: 'ready' }, activatedAt: expect.any(String) });
      const hooks = await api.hooksOf(id);
      const url = ORIGIN + new URL(webhooks[0]?.url ?? '').pathname;
      expect(hooks).toMatchObject([{ provider: name, resource, url }]);
      const [hook] = hooks as [SimulatedHook];
      expect(hook.secret.length).toBeGreaterThan(30);
      expect(await api.deliver(hook, 'one')).toMatchObject({ status: 200, body: { success: true } });
      const responseToForgedRequest = await api.deliver({ ...hook, secret: 'another-secret' }, 'two');
      expect(responseToForgedRequest).toMatchObject({ status: 401 });
    });

    it('is reused by another version with the same fields, without a request to the provider', async () => {
      const [hookBefore] = await api.hooksOf(id);
      const requestCount = providers.requests.length;
      const deployment = await api.redeploy(id, type, fields);
      expect(deployment.latestDeploymentAttempt).toMatchObject({ status: 'active' });
      expect(await api.hooksOf(id)).toEqual([hookBefore]);
      expect(providers.requests).toHaveLength(requestCount);
    });

    it('is created once, even if the record of its creation is lost', async () => {
      const [hookBefore] = (await api.hooksOf(id)) as [SimulatedHook];
      const row = await api.hookRowOf(id);
      const presentRegistrations = (JSON.parse(row?.present ?? '[]') as object[]).map((registration) => ({
        ...registration,
        hookId: null,
      }));
      await api.hookDb
        .updateTable('provider_hooks')
        .set({ present: JSON.stringify(presentRegistrations), state: 'preparing', look_ms: api.now.ms })
        .where('workflow_id', '=', id)
        .execute();
      api.advance(6000);
      await api.waitForStatus(id, 'active');
      const [hookAfter, ...otherHooks] = await api.hooksOf(id);
      expect(otherHooks).toEqual([]);
      if (name !== 'stripe') expect(hookAfter).toEqual(hookBefore);
      expect(await api.deliver(hookAfter!, 'three')).toMatchObject({ status: 200 });
    });

    it('is created again if it was removed at the provider', async () => {
      const [hook] = (await api.hooksOf(id)) as [SimulatedHook];
      providers.hooks.splice(providers.hooks.indexOf(hook), 1);
      api.advance(DAY_MS);
      await expect.poll(() => api.hooksOf(id)).toHaveLength(1);
      const [recreatedHook] = (await api.hooksOf(id)) as [SimulatedHook];
      await expect.poll(async () => (await api.hookRowOf(id))?.lease_id).toBeNull();
      expect(await api.deliver(recreatedHook, 'four')).toMatchObject({ status: 200 });
    });

    it('is removed when its trigger is paused, and created again when the trigger is resumed', async () => {
      const { id: triggerId } = await api.triggerOf(id);
      await api.call('POST', `/api/v2/triggers/${triggerId}/pause`);
      await expect.poll(() => api.hookRowOf(id)).toBeUndefined();
      expect(await api.hooksOf(id)).toEqual([]);
      await api.call('POST', `/api/v2/triggers/${triggerId}/resume`);
      await api.waitForStatus(id, 'active');
      expect(await api.hooksOf(id)).toHaveLength(1);
      expect((await auditActionsOf(triggerId)).slice(-4)).toEqual([
        ...['TRIGGER_PAUSED', 'TRIGGER_HOOK_REMOVED', 'TRIGGER_RESUMED', 'TRIGGER_HOOK_CREATED'],
      ]);
    });

    it('is removed with its secret when the workflow is undeployed, even if its id was not recorded', async () => {
      const [hook] = (await api.hooksOf(id)) as [SimulatedHook];
      // A bot has only one webhook, which has no id.
      if (name !== 'telegram') hook.id += '9';
      await api.call('DELETE', `/api/v2/workflows/${id}/deploy`);
      await expect.poll(() => api.hookRowOf(id)).toBeUndefined();
      expect(await api.hooksOf(id)).toEqual([]);
    });

    it('is not created with a read-only or revoked credential, and the error of the deployment does not contain it', async () => {
      const credentialName = name === 'telegram' ? 'revoked' : `${name}ReadOnly`;
      for (const credential of [credentialName, 'revoked']) {
        const refusedId = await api.deployWebhookWorkflow(type, {
          ...fields,
          triggerCredentials: credential,
        });
        const { latestDeploymentAttempt: attempt, warnings } = await api.waitForStatus(refusedId, 'failed');
        expect(attempt).toMatchObject({
          ...{ status: 'failed', readiness: { webhooks: 'pending' }, activatedAt: null },
          error: { code: 'HOOK_FAILED', retryable: false },
        });
        const secret = HOOK_CREDENTIALS[credential as keyof typeof HOOK_CREDENTIALS];
        expect(JSON.stringify(attempt)).not.toContain(secret);
        expect(warnings).toEqual([expect.stringMatching(/could not be created/)]);
        expect(await api.hooksOf(refusedId)).toEqual([]);
        // A deployment with a credential that has the permission ends the failure.
        await api.redeploy(refusedId, type, fields);
        await api.waitForStatus(refusedId, 'active');
        await api.call('DELETE', `/api/v2/workflows/${refusedId}/deploy`);
        await expect.poll(() => api.hookRowOf(refusedId)).toBeUndefined();
      }
    });
  });

  it('have the state "preparing" until the provider has responded', async () => {
    const response = Promise.withResolvers<undefined>();
    providers.beforeResponse = (request) =>
      request.startsWith('POST github') ? response.promise : undefined;
    const id = await api.deployWebhookWorkflow(GITHUB.type, GITHUB.fields);
    const { latestDeploymentAttempt: attempt, ...deployment } = await api.waitForStatus(id, 'preparing');
    expect(deployment).toMatchObject({ isDeployed: true, needsRedeployment: false });
    expect(attempt).toMatchObject({ readiness: { webhooks: 'pending' }, activatedAt: null, error: null });
    providers.beforeResponse = () => undefined;
    response.resolve(undefined);
    await api.waitForStatus(id, 'active');
  });

  it('follow the fields of another version (events, repository, path), and are removed with their trigger', async () => {
    const id = await api.deployWebhookWorkflow(GITHUB.type, GITHUB.fields);
    await api.waitForStatus(id, 'active');
    const [hookBefore] = (await api.hooksOf(id)) as [SimulatedHook];
    await api.redeploy(id, GITHUB.type, { ...GITHUB.fields, selectedTriggerId: 'github_pr_opened' });
    await api.waitForStatus(id, 'active');
    expect(await api.hooksOf(id)).toEqual([{ ...hookBefore, events: ['pull_request'] }]);
    const otherFields = { ...GITHUB.fields, triggerCredentials: 'github2' };
    await api.redeploy(id, GITHUB.type, otherFields);
    await api.waitForStatus(id, 'active');
    expect(await api.hooksOf(id)).toMatchObject([{ id: hookBefore.id, events: ['push'] }]);
    await api.redeploy(id, GITHUB.type, { ...otherFields, repo: 'shuttle' });
    await api.waitForStatus(id, 'active');
    await expect.poll(() => api.hooksOf(id)).toMatchObject([{ resource: 'ada/shuttle' }]);
    await api.redeploy(id, GITHUB.type, {
      ...otherFields,
      repo: 'shuttle',
      triggerPath: `mine-${id.slice(0, 8)}`,
    });
    await api.waitForStatus(id, 'active');
    await expect
      .poll(() => providers.hooks.filter(({ resource }) => resource === 'ada/shuttle').map(({ url }) => url))
      .toEqual([`${ORIGIN}/api/webhooks/trigger/mine-${id.slice(0, 8)}`]);
    // The block becomes a schedule.
    await api.redeploy(id, 'schedule', { scheduleType: 'minutes', minutesInterval: 60 });
    await expect.poll(() => api.hookRowOf(id)).toBeUndefined();
    expect(providers.hooks.filter(({ resource }) => resource === 'ada/shuttle')).toEqual([]);
  });

  it('at Linear are replaced when the team changes, because Linear cannot move a webhook to another team', async () => {
    const { type, fields } = HOOK_TYPES.linear;
    const id = await api.deployWebhookWorkflow(type, fields);
    await api.waitForStatus(id, 'active');
    for (const [teamId, resource] of [
      ['team-2', 'team-2'],
      ['', 'all public teams'],
    ] as const) {
      await api.redeploy(id, type, { ...fields, teamId });
      await api.waitForStatus(id, 'active');
      await expect.poll(() => api.hooksOf(id)).toMatchObject([{ resource }]);
    }
    await api.call('DELETE', `/api/v2/workflows/${id}/deploy`);
    await expect.poll(() => api.hooksOf(id)).toEqual([]);
  });

  it('of a Telegram bot follow a changed path, but do not replace a webhook with another URL', async () => {
    const { type, fields } = HOOK_TYPES.telegram;
    const id = await api.deployWebhookWorkflow(type, fields);
    await api.waitForStatus(id, 'active');
    const triggerPath = `bot-${id.slice(0, 8)}`;
    await api.redeploy(id, type, { ...fields, triggerPath });
    await api.waitForStatus(id, 'active');
    const listTelegramHooks = () => providers.hooks.filter(({ provider }) => provider === 'telegram');
    expect(listTelegramHooks()).toMatchObject([{ url: `${ORIGIN}/api/webhooks/trigger/${triggerPath}` }]);
    const secondId = await api.deployWebhookWorkflow(type, fields);
    const failedDeployment = await api.waitForStatus(secondId, 'failed');
    expect(failedDeployment.latestDeploymentAttempt?.error).toMatchObject({
      message: expect.stringMatching(/already has a webhook at another URL/),
      retryable: false,
    });
    await api.call('DELETE', `/api/v2/workflows/${secondId}/deploy`);
    await expect.poll(() => api.hookRowOf(secondId)).toBeUndefined();
    expect(listTelegramHooks()).toHaveLength(1);
    await api.call('DELETE', `/api/v2/workflows/${id}/deploy`);
    await expect.poll(listTelegramHooks).toEqual([]);
  });

  it('are retried with backoff while the provider fails or limits the rate of requests', async () => {
    const responses = [{ status: 503 }, { status: 403, headers: { 'retry-after': '60' } }, { status: 500 }];
    providers.beforeResponse = (request) =>
      request.startsWith('GET github') ? responses.shift() : undefined;
    const id = await api.deployWebhookWorkflow(GITHUB.type, GITHUB.fields);
    const { latestDeploymentAttempt: firstAttempt } = await api.waitForStatus(id, 'failed');
    expect(firstAttempt?.error).toMatchObject({
      retryable: true,
      message: expect.stringMatching(/status 503/),
    });
    const readDelayMs = async (): Promise<number> => Number((await api.hookRowOf(id))?.look_ms) - api.now.ms;
    expect(await readDelayMs()).toBe(5000);
    api.advance(5000);
    await expect.poll(readDelayMs).toBe(60_000);
    expect((await api.triggerOf(id)).health.lastError).toMatch(/rate limit of GitHub/);
    api.advance(60_000);
    await expect.poll(readDelayMs).toBe(20_000);
    api.advance(20_000);
    await api.waitForStatus(id, 'active');
    expect((await api.triggerOf(id)).health.lastError).toBeNull();
    providers.beforeResponse = () => undefined;
  });

  it('stay active when a check fails with a retryable error, and fail when the provider refuses the check', async () => {
    const id = await api.deployWebhookWorkflow(GITHUB.type, GITHUB.fields);
    await api.waitForStatus(id, 'active');
    let status = 502;
    providers.beforeResponse = (request) => (request.includes('github') ? { status } : undefined);
    api.advance(DAY_MS);
    await expect.poll(async () => (await api.triggerOf(id)).health.lastError).toMatch(/status 502/);
    expect((await api.readDeployment(id)).latestDeploymentAttempt).toMatchObject({ status: 'active' });
    status = 401;
    api.advance(5000);
    const { latestDeploymentAttempt: attempt } = await api.waitForStatus(id, 'failed');
    expect(attempt?.error).toMatchObject({ retryable: false });
    providers.beforeResponse = () => undefined;
    // A refusal is retried after a day.
    api.advance(DAY_MS);
    await api.waitForStatus(id, 'active');
  });

  it('that cannot be removed stay at the provider and are recorded in the audit log', async () => {
    const id = await api.deployWebhookWorkflow(GITHUB.type, GITHUB.fields);
    await api.waitForStatus(id, 'active');
    const { id: triggerId } = await api.triggerOf(id);
    providers.beforeResponse = (request) =>
      request.startsWith('DELETE github') ? { status: 401 } : undefined;
    await api.call('DELETE', `/api/v2/workflows/${id}`);
    await expect.poll(() => api.hookRowOf(id)).toBeUndefined();
    providers.beforeResponse = () => undefined;
    expect(await auditActionsOf(triggerId)).toEqual(['TRIGGER_HOOK_CREATED', 'TRIGGER_HOOK_LEFT']);
    expect(await api.hooksOf(id)).toHaveLength(1);
    // After the restoration, the webhook is found by its URL.
    await api.call('POST', `/api/v2/workflows/${id}/restore`);
    await api.waitForStatus(id, 'active');
    expect(await api.hooksOf(id)).toHaveLength(1);
  });

  it('for an unknown team are refused', async () => {
    const { type, fields } = HOOK_TYPES.linear;
    const errors = [{ message: 'Entity not found: Team', extensions: { code: 'INPUT_ERROR' } }];
    providers.beforeResponse = (request) =>
      request.endsWith('webhookCreate') ? { status: 400, body: { errors } } : undefined;
    const id = await api.deployWebhookWorkflow(type, fields);
    const { latestDeploymentAttempt: attempt } = await api.waitForStatus(id, 'failed');
    expect(attempt?.error).toMatchObject({
      retryable: false,
      message: expect.stringMatching(/check the team/),
    });
    providers.beforeResponse = () => undefined;
  });

  it.each([
    ['redirects', { status: 302, headers: { location: 'http://127.0.0.1:1/taken' } }, /status 302/, false],
    ['is too large', { body: 'x'.repeat(3 * 2 ** 20) }, /could not be reached/, true],
    ['has invalid fields', { body: { id: '../../user', hooks: 7 } }, /cannot be read/, true],
    ['repeats the credential', { status: 422, body: HOOK_CREDENTIALS.github }, /refuses the webhook/, false],
  ])(
    'are not created by a provider whose response %s',
    async (_description, response, message, retryable) => {
      providers.beforeResponse = (request) => (request.includes('github') ? response : undefined);
      const id = await api.deployWebhookWorkflow(GITHUB.type, GITHUB.fields);
      const { latestDeploymentAttempt: attempt } = await api.waitForStatus(id, 'failed');
      expect(attempt?.error).toMatchObject({ retryable, message: expect.stringMatching(message) });
      expect(JSON.stringify(attempt)).not.toContain(HOOK_CREDENTIALS.github);
      providers.beforeResponse = () => undefined;
      await api.call('DELETE', `/api/v2/workflows/${id}/deploy`);
      await expect.poll(() => api.hookRowOf(id)).toBeUndefined();
    },
  );

  it('need a credential of their own workspace', async () => {
    const otherWorkspaceId = await api.store.workspaces.createWorkspace('Others', api.userId);
    await api.hookDb
      .updateTable('credentials' as never)
      .set({ workspace_id: otherWorkspaceId } as never)
      .where('id' as never, '=', api.credentials['githubReadOnly'] as never)
      .execute();
    const id = await api.deployWebhookWorkflow(GITHUB.type, {
      ...GITHUB.fields,
      triggerCredentials: 'githubReadOnly',
    });
    const unknownId = await api.deployWebhookWorkflow(GITHUB.type, {
      ...GITHUB.fields,
      triggerCredentials: crypto.randomUUID(),
    });
    const [foreignDeployment, unknownDeployment] = await Promise.all([
      api.waitForStatus(id, 'failed'),
      api.waitForStatus(unknownId, 'failed'),
    ]);
    expect(foreignDeployment.latestDeploymentAttempt?.error).toEqual(
      unknownDeployment.latestDeploymentAttempt?.error,
    );
    expect(foreignDeployment.latestDeploymentAttempt?.error?.message).toMatch(
      /does not have the stored credential/,
    );
  });

  it('do not show their secret or credential in any response, audit record, database row or reported error', async () => {
    const id = await api.deployWebhookWorkflow(GITHUB.type, GITHUB.fields);
    await api.waitForStatus(id, 'active');
    const [{ secret }] = (await api.hooksOf(id)) as [SimulatedHook];
    const paths = [
      `/api/v2/workflows/${id}/deployment`,
      `/api/v2/triggers?workspaceId=${api.workspaceId}`,
      `/api/v2/webhooks?workspaceId=${api.workspaceId}`,
    ];
    const responses = await Promise.all(paths.map((path) => api.call('GET', path)));
    const audit = await api.hookDb.selectFrom('audit').selectAll().execute();
    const rows = await api.hookDb.selectFrom('provider_hooks').selectAll().execute();
    const text = JSON.stringify([responses, audit, rows, api.reportedErrors.map(String)]);
    for (const hiddenValue of [secret, ...Object.values(HOOK_CREDENTIALS)])
      expect(text).not.toContain(hiddenValue);
    expect(responses[2]?.body).toMatchObject({
      data: expect.arrayContaining([
        expect.objectContaining({ isSigned: true, hook: expect.objectContaining({ state: 'active' }) }),
      ]),
    });
    expect(api.reportedErrors.map(String)).toEqual([]);
  });
});

describe('a webhook at a provider', () => {
  it('is created only if the server has a public URL; otherwise, the deployment shows the reason', async () => {
    const providers = await startHookProviders();
    const egress = { allowPrivate: true, ports: 'any' as const };
    const { services } = providers;
    const api = await openHookApi('sqlite', providers, { webhookRegistrations: { egress, services } });
    const id = await api.deployWebhookWorkflow(GITHUB.type, GITHUB.fields);
    const { warnings, latestDeploymentAttempt: attempt } = await api.waitForStatus(id, 'failed');
    expect(warnings).toEqual([expect.stringMatching(/public URL: start it with --origin/)]);
    expect(attempt?.error).toMatchObject({ code: 'HOOK_FAILED', retryable: false });
    expect(providers.requests).toEqual([]);
    const secondApi = await openHookApi('sqlite', providers, { store: api.store });
    secondApi.advance(0);
    await api.waitForStatus(id, 'active');
    expect(await api.hooksOf(id)).toMatchObject([{ url: expect.stringContaining(ORIGIN) }]);
    await providers.close();
  });

  it('is renewed before it expires', async () => {
    const calls: { call: string; registrationId: string | undefined }[] = [];
    let isRefused = false;
    const githubTrigger = triggerTypes.find(
      ({ type }) => type === 'github_v2',
    ) as (typeof triggerTypes)[number];
    if (githubTrigger.kind !== 'webhook') throw new Error('The trigger is not a webhook.');
    /** Returns an operation that records its calls under this name. */
    const createOperation =
      (call: string) =>
      (
        _config: unknown,
        { registrationId, nowMs }: { registrationId?: string | undefined; nowMs: number },
      ) => {
        calls.push({ call, registrationId });
        if (isRefused) return Promise.reject(new Error('An error with a secret.'));
        return Promise.resolve({ id: 'watch', expiresMs: nowMs + 3_600_000 });
      };
    const registrar = {
      ...{
        locationOf: () => 'calendar',
        activate: createOperation('activate'),
        renew: createOperation('renew'),
      },
      deactivate: () => Promise.resolve(),
    };
    const providers = await startHookProviders();
    const api = await openHookApi('sqlite', providers, {
      triggers: [
        ...triggerTypes.filter(({ type }) => type !== 'github_v2'),
        { ...githubTrigger, registrar } as never,
      ],
    });
    const id = await api.deployWebhookWorkflow(GITHUB.type, GITHUB.fields);
    await api.waitForStatus(id, 'active');
    const readRemainingMs = async () =>
      Date.parse((await api.triggerOf(id)).health.expiresAt ?? '') - api.now.ms;
    expect(await readRemainingMs()).toBe(3_600_000);
    api.advance(1_799_000);
    expect(calls).toEqual([{ call: 'activate', registrationId: undefined }]);
    api.advance(1000);
    await expect.poll(readRemainingMs).toBe(3_600_000);
    expect(calls.slice(1)).toEqual([{ call: 'renew', registrationId: 'watch' }]);
    isRefused = true;
    api.advance(1_800_000);
    await expect.poll(async () => (await api.triggerOf(id)).health.lastError).toMatch(/could not be called/);
    expect((await api.readDeployment(id)).latestDeploymentAttempt).toMatchObject({ status: 'active' });
    api.advance(1_800_000);
    await api.waitForStatus(id, 'failed');
    isRefused = false;
    api.advance(3_600_000);
    await api.waitForStatus(id, 'active');
    await providers.close();
  });
});
