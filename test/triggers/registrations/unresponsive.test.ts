import { triggerTypes } from '@heddle/blocks/triggers';
import { storeCredential, storedCredentials } from '@heddle/service/credentials';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createServiceClients } from '../../../packages/service/src/triggers/clients.ts';
import { RegistrationJob } from '../../../packages/service/src/triggers/registrations/job.ts';
import { registrationWithNumericTimes } from '../../../packages/service/src/triggers/registrations/tables.ts';
import type { WebhookRegistrationRow } from '../../../packages/service/src/triggers/registrations/tables.ts';
import { HOOK_CREDENTIALS, startHookProviders } from '../../support/hook-providers.ts';
import type { HookProviders } from '../../support/hook-providers.ts';
import { HOOK_TYPES, openHookApi, ORIGIN, sealer } from './setup.ts';
import type { HookApi } from './setup.ts';

const DAY_MS = 24 * 3_600_000;
const RETRY_MS = 5000;
/** The time limit of a request, which is 10 seconds unless the egress policy has a lower one. */
const REQUEST_TIMEOUT_MS = 1500;
const { type, fields } = HOOK_TYPES.github;

const BEHAVIOURS = [
  ['never responds', 'silent'],
  ['sends a byte now and then', 'slow'],
  ['sends an endless body', 'fast'],
] as const;

describe.each(BEHAVIOURS)('webhooks at a provider that %s', (_description, unfinished) => {
  let providers: HookProviders;
  let api: HookApi;
  let requestCount = 0;

  beforeAll(async () => {
    providers = await startHookProviders();
    const egress = { allowPrivate: true, ports: 'any' as const, timeoutMs: REQUEST_TIMEOUT_MS };
    api = await openHookApi('sqlite', providers, {
      webhookRegistrations: { origin: ORIGIN, egress, services: providers.services },
    });
  });
  afterAll(() => providers.close());

  /**
   * Makes GitHub not finish its responses to requests of this method. `isExecuted`: GitHub still executes the requests.
   */
  const leaveResponsesUnfinished = (method: string, isExecuted = false): void => {
    requestCount = 0;
    providers.beforeResponse = (request) => {
      if (!request.startsWith(`${method} github`)) return undefined;
      requestCount += 1;
      return { unfinished, ...(isExecuted && { executesRequest: isExecuted }) };
    };
  };
  const respondAgain = (): void => void (providers.beforeResponse = () => undefined);
  const delayOf = async (id: string): Promise<number> =>
    Number((await api.hookRowOf(id))?.look_ms) - api.now.ms;
  const readFailureCount = async (id: string): Promise<number | undefined> =>
    (await api.hookRowOf(id))?.attempts;

  it('are created once by a later attempt, even if the provider has created them without responding', async () => {
    leaveResponsesUnfinished('POST');
    const id = await api.deployWebhookWorkflow(type, fields);
    const { latestDeploymentAttempt: attempt } = await api.waitForStatus(id, 'failed');
    expect(attempt).toMatchObject({
      ...{ status: 'failed', activatedAt: null },
      error: { code: 'HOOK_FAILED', retryable: true, message: expect.stringMatching(/could not be reached/) },
    });
    expect(await delayOf(id)).toBe(RETRY_MS);
    api.advance(RETRY_MS - 1);
    expect(requestCount).toBe(1);
    leaveResponsesUnfinished('POST', true);
    api.advance(1);
    await expect.poll(() => readFailureCount(id)).toBe(2);
    expect(await delayOf(id)).toBe(2 * RETRY_MS);
    respondAgain();
    expect(await api.hooksOf(id)).toHaveLength(1);
    api.advance(2 * RETRY_MS);
    await api.waitForStatus(id, 'active');
    expect(await api.hooksOf(id)).toHaveLength(1);
    expect(api.reportedErrors).toEqual([]);
  });

  it('stay active while checks fail', async () => {
    const id = await api.deployWebhookWorkflow(type, fields);
    await api.waitForStatus(id, 'active');
    leaveResponsesUnfinished('PATCH');
    api.advance(DAY_MS);
    await expect.poll(() => readFailureCount(id)).toBe(1);
    expect(await delayOf(id)).toBe(RETRY_MS);
    expect((await api.triggerOf(id)).health.lastError).toMatch(/could not be reached/);
    expect((await api.readDeployment(id)).latestDeploymentAttempt).toMatchObject({
      status: 'active',
      error: null,
    });
    respondAgain();
    api.advance(RETRY_MS);
    await expect.poll(() => readFailureCount(id)).toBe(0);
    expect((await api.triggerOf(id)).health.lastError).toBeNull();
    expect(api.reportedErrors).toEqual([]);
  });

  it('are removed by a later attempt', async () => {
    const id = await api.deployWebhookWorkflow(type, fields);
    await api.waitForStatus(id, 'active');
    const [hook] = await api.hooksOf(id);
    leaveResponsesUnfinished('DELETE');
    await api.call('DELETE', `/api/v2/workflows/${id}/deploy`);
    await expect.poll(() => readFailureCount(id)).toBe(1);
    expect(await api.hookRowOf(id)).toMatchObject({ state: 'removing', lease_id: null });
    expect(await delayOf(id)).toBe(RETRY_MS);
    respondAgain();
    api.advance(RETRY_MS);
    await expect.poll(() => api.hookRowOf(id)).toBeUndefined();
    expect(providers.hooks).not.toContain(hook);
    expect(api.reportedErrors).toEqual([]);
  });
});

/** Adds a copy of the webhook of a workflow to each of these workspaces. */
async function addWebhookCopies(api: HookApi, id: string, workspaceIds: readonly string[]): Promise<void> {
  const row = (await api.hookRowOf(id)) as WebhookRegistrationRow;
  const { github: key } = HOOK_CREDENTIALS;
  for (const [index, workspaceId] of workspaceIds.entries()) {
    const material = { type: 'service_account', key } as const;
    const newCredential = { workspaceId, name: 'copied', provider: 'github', material };
    const { credential } = await storeCredential(api.store.database, sealer, newCredential);
    const wanted = (row.wanted ?? '').replaceAll(api.credentials['github'] ?? '', credential.id);
    const unleasedColumns = { attempts: 0, lease_id: null, lease_ms: null, look_ms: api.now.ms };
    const initialColumns = { ...unleasedColumns, present: '[]', key_id: null, sealed: null };
    const copy = { ...row, ...initialColumns, workspace_id: workspaceId, workflow_id: `0-${index}`, wanted };
    await api.hookDb.insertInto('provider_hooks').values(copy).execute();
  }
}

describe('while a provider never responds', () => {
  /** Starts an API with a webhook whose provider never responds. */
  async function startApiWithSilentProvider() {
    const providers = await startHookProviders();
    const api = await openHookApi('sqlite', providers);
    providers.beforeResponse = (request) =>
      request.includes(' github') ? { unfinished: 'silent' } : undefined;
    const silentId = await api.deployWebhookWorkflow(type, fields);
    const countRequests = (): number =>
      providers.requests.filter((request) => request.includes(' github')).length;
    await expect.poll(countRequests).toBe(1);
    const readMaxAttempts = async (): Promise<number> => {
      const rows = await api.hookDb.selectFrom('provider_hooks').select('attempts').execute();
      return Math.max(...rows.map(({ attempts }) => attempts));
    };
    return { providers, api, silentId, countRequests, readMaxAttempts };
  }

  it('its webhooks of many workspaces do not delay webhooks at another provider', async () => {
    const { providers, api, silentId, countRequests, readMaxAttempts } = await startApiWithSilentProvider();
    const otherWorkspaceIdPromises = Array.from({ length: 10 }, (_, index) =>
      api.store.workspaces.createWorkspace(`Others ${index}`, api.userId),
    );
    await addWebhookCopies(api, silentId, await Promise.all(otherWorkspaceIdPromises));
    const id = await api.deployWebhookWorkflow(HOOK_TYPES.stripe.type, HOOK_TYPES.stripe.fields);
    await api.waitForStatus(id, 'active');
    expect(countRequests()).toBe(4);
    // None of the requests has reached its time limit.
    expect(await readMaxAttempts()).toBe(0);
    await providers.close();
  });

  it('its many webhooks of one workspace delay neither another workspace nor webhooks at another provider', async () => {
    const { providers, api, silentId, countRequests, readMaxAttempts } = await startApiWithSilentProvider();
    const otherWorkspaceId = await api.store.workspaces.createWorkspace('Others', api.userId);
    const ownWorkspaceIds = Array.from({ length: 10 }, () => api.workspaceId);
    await addWebhookCopies(api, silentId, [...ownWorkspaceIds, otherWorkspaceId]);
    const id = await api.deployWebhookWorkflow(HOOK_TYPES.stripe.type, HOOK_TYPES.stripe.fields);
    await api.waitForStatus(id, 'active');
    await expect.poll(countRequests).toBe(3);
    const leasedHooks = await api.hookDb
      .selectFrom('provider_hooks')
      .select('workspace_id')
      .where('lease_id', 'is not', null)
      .execute();
    expect(leasedHooks.map(({ workspace_id: workspaceId }) => workspaceId).toSorted()).toEqual(
      [api.workspaceId, api.workspaceId, otherWorkspaceId].toSorted(),
    );
    expect(await readMaxAttempts()).toBe(0);
    await providers.close();
  });

  it('the work on a webhook ends at its time limit, and is retried after a delay', async () => {
    const providers = await startHookProviders();
    const api = await openHookApi('sqlite', providers);
    providers.beforeResponse = () => ({ status: 503 });
    const id = await api.deployWebhookWorkflow(type, fields);
    await api.waitForStatus(id, 'failed');
    const row = await api.hookDb
      .updateTable('provider_hooks')
      .set({ lease_id: 'slow', lease_ms: api.now.ms + DAY_MS, attempts: 3 })
      .where('workflow_id', '=', id)
      .returningAll()
      .executeTakeFirstOrThrow();
    providers.beforeResponse = () => ({ unfinished: 'silent' });
    const clients = createServiceClients({ services: providers.services });
    const job = new RegistrationJob(
      {
        ...{
          db: api.hookDb,
          sealer,
          onError: (error) => api.reportedErrors.push(error),
          now: () => api.now.ms,
        },
        types: new Map(triggerTypes.map((triggerType) => [triggerType.type, triggerType])),
        credentials: storedCredentials(api.store.database, sealer),
        service: clients.service,
      },
      registrationWithNumericTimes(row),
      AbortSignal.timeout(REQUEST_TIMEOUT_MS),
    );
    await job.run();
    const rowAfter = registrationWithNumericTimes((await api.hookRowOf(id)) as WebhookRegistrationRow);
    expect(rowAfter).toMatchObject({ state: 'failed', is_retryable: 1, attempts: 4, lease_id: null });
    expect((rowAfter.look_ms ?? 0) - api.now.ms).toBe(8 * RETRY_MS);
    expect(api.reportedErrors).toEqual([]);
    await clients.close();
    await providers.close();
  });
});
