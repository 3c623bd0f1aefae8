import { triggerTypes } from '@heddle/blocks/triggers';
import { createEgress } from '@heddle/sandbox/egress';
import type { Egress } from '@heddle/sandbox/egress';
import { storedCredentials } from '@heddle/service/credentials';
import type { KyselyPlugin } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createServiceClients } from '../../../packages/service/src/triggers/clients.ts';
import { RegistrationJob } from '../../../packages/service/src/triggers/registrations/job.ts';
import { registrationWithNumericTimes } from '../../../packages/service/src/triggers/registrations/tables.ts';
import type { WebhookRegistrationRow } from '../../../packages/service/src/triggers/registrations/tables.ts';
import { createDataFolder } from '../../support/data-folder.ts';
import { startHookProviders } from '../../support/hook-providers.ts';
import type { HookProviders, SimulatedHook } from '../../support/hook-providers.ts';
import { sampledSteps, sampledTests } from '../../support/scale.ts';
import { expectOneHookWhenKilled } from './kill-steps.ts';
import { HOOK_TYPES, openHookApi, sealer } from './setup.ts';
import type { HookApi } from './setup.ts';

/** The duration of the lease of a process that has died. */
const LEASE_MS = 120_000;

/** A simulated process that dies at a step. After its death, it sends no statements and no requests. */
class CrashingProcess {
  #remainingSteps: number;

  /** `killStep`: the step at which it dies, counted from 1. */
  constructor(killStep: number) {
    this.#remainingSteps = killStep;
  }

  get isDead(): boolean {
    return this.#remainingSteps <= 0;
  }

  /** Counts a step, before or after a statement or a request. */
  countStep(): void {
    this.#remainingSteps -= 1;
    if (this.isDead) throw new Error('The process has died.');
  }

  /** Returns a plugin that counts each statement and each result as a step. */
  createCountingPlugin(): KyselyPlugin {
    return {
      transformQuery: ({ node }) => {
        this.countStep();
        return node;
      },
      transformResult: ({ result }) => {
        this.countStep();
        return Promise.resolve(result);
      },
    };
  }

  /** Returns a client that counts each request and each response as a step. */
  createCountingClient(client: Egress): Egress {
    return {
      ...client,
      fetch: async (request) => {
        this.countStep();
        const response = await client.fetch(request);
        this.countStep();
        return response;
      },
    };
  }
}

describe.each(Object.entries(HOOK_TYPES))('webhooks at %s', (name, { type, fields }) => {
  const steps = sampledSteps(4, 'steps of the creation and removal of a webhook at which the process dies');
  let providers: HookProviders;
  let client: Egress;
  /** The process that continues the work. */
  let api: HookApi;

  beforeAll(async () => {
    providers = await startHookProviders();
    client = createEgress({ allowPrivate: true, ports: 'any' });
    api = await openHookApi('sqlite', providers);
  });
  afterAll(async () => {
    await client.close();
    await providers.close();
  });

  /**
   * Claims and reconciles the registrations of a workflow until the process dies or is done. Returns true if it died.
   */
  const runUntilCrash = async (
    id: string,
    step: number,
    change: Partial<WebhookRegistrationRow>,
  ): Promise<boolean> => {
    const crashingProcess = new CrashingProcess(step);
    const nowMs = api.now.ms;
    const row = await api.hookDb
      .updateTable('provider_hooks')
      .set({ ...change, lease_id: 'crashing', lease_ms: nowMs + LEASE_MS, look_ms: nowMs, attempts: 0 })
      .where('workflow_id', '=', id)
      .returningAll()
      .executeTakeFirstOrThrow();
    const baseUrl = providers.services[name as keyof HookProviders['services']];
    const job = new RegistrationJob(
      {
        ...{
          db: api.hookDb.withPlugin(crashingProcess.createCountingPlugin()),
          sealer,
          onError: () => undefined,
        },
        types: new Map(triggerTypes.map((triggerType) => [triggerType.type, triggerType])),
        credentials: storedCredentials(api.store.database, sealer),
        service: () => Promise.resolve({ baseUrl, http: crashingProcess.createCountingClient(client) }),
        now: () => nowMs,
      },
      registrationWithNumericTimes(row),
      new AbortController().signal,
    );
    await job.run().catch((error: unknown) => {
      if (!crashingProcess.isDead) throw error;
    });
    return crashingProcess.isDead;
  };

  /**
   * Runs `work` while the providers respond with 503, so that the surviving process records the desired registration
   * but cannot create or remove it.
   */
  const runWhileUnavailable = async <Value>(work: () => Promise<Value>): Promise<Value> => {
    providers.beforeResponse = () => ({ status: 503 });
    const value = await work();
    providers.beforeResponse = () => undefined;
    return value;
  };

  it('are created and removed once, even if a process dies at any step', { timeout: 120_000 }, async () => {
    let deathCount = 0;
    for (let step = steps.firstStep; ; step += steps.stride) {
      const id = await runWhileUnavailable(async () => {
        const failedId = await api.deployWebhookWorkflow(type, fields);
        await api.waitForStatus(failedId, 'failed');
        return failedId;
      });
      const initialColumns = { present: '[]', key_id: null, sealed: null, state: 'preparing' } as const;
      const isDead = await runUntilCrash(id, step, initialColumns);
      api.advance(LEASE_MS + 1);
      await api.waitForStatus(id, 'active');
      const hooks = (await api.hooksOf(id)) as [SimulatedHook];
      expect(hooks, `died at step ${step}`).toHaveLength(1);
      expect(await api.deliver(hooks[0], 'one')).toMatchObject({ status: 200 });
      await runWhileUnavailable(async () => {
        await api.call('DELETE', `/api/v2/workflows/${id}/deploy`);
        await expect.poll(async () => (await api.hookRowOf(id))?.attempts).toBe(1);
      });
      const isDeadAgain = await runUntilCrash(id, step, {});
      api.advance(LEASE_MS + 1);
      await expect.poll(() => api.hookRowOf(id)).toBeUndefined();
      expect(await api.hooksOf(id), `died at step ${step}`).toEqual([]);
      if (!isDead && !isDeadAgain) break;
      deathCount += 1;
    }
    expect(deathCount).toBeGreaterThan(0);
  });
});

describe('a process with webhooks at a provider', { timeout: 900_000 }, () => {
  const sampledIt = sampledTests(
    1 / 4,
    'providers whose webhooks a killed process creates, checks and removes',
  );
  const steps = sampledSteps(4, 'steps of the creation, check and removal of a webhook in a process');

  for (const name of ['github', 'linear', 'stripe', 'telegram'] as const)
    sampledIt(
      `leaves one webhook, or none after the removal, if it is killed at any step: ${name}`,
      async () => {
        const data = createDataFolder();
        await expectOneHookWhenKilled({ store: { data }, engine: { data } }, name, steps);
      },
    );
});

describe('a process that stops', () => {
  it('stores the secret of a webhook that it has created, which the provider shows only once', async () => {
    const providers = await startHookProviders();
    const api = await openHookApi('sqlite', providers);
    const { type, fields } = HOOK_TYPES.stripe;
    providers.beforeResponse = () => ({ status: 503 });
    const id = await api.deployWebhookWorkflow(type, fields);
    await api.waitForStatus(id, 'failed');
    const { wanted } = (await api.hookRowOf(id)) as WebhookRegistrationRow;
    const formerHook = { ...(JSON.parse(wanted ?? '') as object), place: 'stripe former', hookId: 'we_1' };
    const row = await api.hookDb
      .updateTable('provider_hooks')
      .set({ present: JSON.stringify([formerHook]), lease_id: 'stopping', lease_ms: api.now.ms + LEASE_MS })
      .where('workflow_id', '=', id)
      .returningAll()
      .executeTakeFirstOrThrow();
    const stopController = new AbortController();
    const pendingResponse = Promise.withResolvers<undefined>();
    providers.beforeResponse = (request) => {
      if (!request.startsWith('DELETE stripe')) return undefined;
      stopController.abort();
      return pendingResponse.promise;
    };
    const clients = createServiceClients({ services: providers.services });
    const job = new RegistrationJob(
      {
        ...{ db: api.hookDb, sealer, onError: () => undefined, now: () => api.now.ms },
        types: new Map(triggerTypes.map((triggerType) => [triggerType.type, triggerType])),
        credentials: storedCredentials(api.store.database, sealer),
        service: clients.service,
      },
      registrationWithNumericTimes(row),
      stopController.signal,
    );
    await job.run();
    providers.beforeResponse = () => undefined;
    pendingResponse.resolve(undefined);
    expect(await api.hookRowOf(id)).toMatchObject({ lease_id: null });
    api.advance(LEASE_MS);
    await api.waitForStatus(id, 'active');
    const [hook, ...otherHooks] = (await api.hooksOf(id)) as [SimulatedHook];
    expect(otherHooks).toEqual([]);
    expect(await api.deliver(hook, 'one')).toMatchObject({ status: 200 });
    await clients.close();
    await providers.close();
  });
});
