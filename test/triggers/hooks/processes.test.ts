import { triggerTypes } from '@heddle/blocks/triggers';
import { storedCredentials } from '@heddle/service/credentials';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { serviceClients } from '../../../packages/service/src/triggers/clients.ts';
import { HookReconciler } from '../../../packages/service/src/triggers/hooks/reconciler.ts';
import { Triggers } from '../../../packages/service/src/triggers/triggers.ts';
import { hookProviders } from '../../support/hook-providers.ts';
import type { HookProviders } from '../../support/hook-providers.ts';
import { drawnStores } from '../../support/postgres.ts';
import { HOOKED, hookedApi, sealer } from './setup.ts';
import type { Hooked } from './setup.ts';

const GITHUB = HOOKED.github;

/** Starts the background work of another process on the webhooks, with the same database. */
function otherProcess(api: Hooked, { services }: HookProviders) {
  const clients = serviceClients({ services });
  const reconciler = new HookReconciler({
    ...{ db: api.hookDb, sealer, service: clients.service, report: (error) => api.faults.push(error) },
    types: new Map(triggerTypes.map((each) => [each.type, each])),
    credentials: storedCredentials(api.store.database, sealer),
    now: () => api.now.ms,
    every: () => () => undefined,
  });
  return {
    reconciler,
    async close() {
      await reconciler.close();
      await clients.close();
    },
  };
}

describe.each(drawnStores('processes of hooks'))(
  'webhooks at providers, with several processes on %s,',
  (store) => {
    let providers: HookProviders;
    let api: Hooked;

    beforeAll(async () => {
      providers = await hookProviders();
      api = await hookedApi(store, providers);
    });
    afterAll(() => providers.close());

    it('are handled by one process at a time; another one continues if it stops before the provider has answered', async () => {
      const never = Promise.withResolvers<undefined>();
      const requestCount = (method: string): number =>
        providers.requests.filter((request) => request.startsWith(`${method} github`)).length;
      providers.before = () => ({ status: 503 });
      const id = await api.hooked(GITHUB.type, GITHUB.fields);
      await api.settled(id, 'failed');
      providers.before = (request) => (request.startsWith('POST github') ? never.promise : undefined);
      const before = { GET: requestCount('GET'), POST: requestCount('POST') };
      await api.hookDb
        .updateTable('provider_hooks')
        .set({ look_ms: api.now.ms })
        .where('workflow_id', '=', id)
        .execute();
      const others = [otherProcess(api, providers), otherProcess(api, providers)];
      for (const { reconciler } of others) reconciler.wake();
      await expect.poll(() => requestCount('POST')).toBe(before.POST + 1);
      for (const { close } of others) await close();
      expect({ GET: requestCount('GET'), POST: requestCount('POST') }).toEqual({
        GET: before.GET + 1,
        POST: before.POST + 1,
      });
      providers.before = () => undefined;
      expect(await api.rowOf(id)).toMatchObject({ lease_id: null, state: 'failed' });
      never.resolve(undefined);
      api.pass(5000);
      await api.settled(id, 'active');
      expect(await api.hooksOf(id)).toHaveLength(1);
    });

    it('stay unchanged when a process that does not create webhooks changes the triggers', async () => {
      const id = await api.hooked(GITHUB.type, GITHUB.fields);
      await api.settled(id, 'active');
      const before = await api.rowOf(id);
      await new Triggers(triggerTypes).wantHooks(api.hookDb, { workflowId: id, nowMs: api.now.ms });
      expect(await api.rowOf(id)).toEqual(before);
    });
  },
);
