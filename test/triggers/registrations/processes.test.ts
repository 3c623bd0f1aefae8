import { triggerTypes } from '@heddle/blocks/triggers';
import { storedCredentials } from '@heddle/service/credentials';
import type { JsonObject } from '@heddle/core';
import type { Kysely } from 'kysely';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { openDatabase } from '../../../packages/service/src/store/database.ts';
import { createServiceClients } from '../../../packages/service/src/triggers/clients.ts';
import { RegistrationReconciler } from '../../../packages/service/src/triggers/registrations/reconciler.ts';
import type { WebhookRegistrationTables } from '../../../packages/service/src/triggers/registrations/database.ts';
import { TRIGGER_MIGRATIONS } from '../../../packages/service/src/triggers/migrations.ts';
import { Triggers } from '../../../packages/service/src/triggers/triggers.ts';
import { createDataFolder } from '../../support/data-folder.ts';
import { startHookProviders } from '../../support/hook-providers.ts';
import type { HookProviders } from '../../support/hook-providers.ts';
import { createPostgresDatabase, storesToTest } from '../../support/postgres.ts';
import { HOOK_TYPES, openHookApi, sealer } from './setup.ts';
import type { HookApi } from './setup.ts';

const GITHUB = HOOK_TYPES.github;

/** Starts the background work of another process on the webhooks, with the same database. */
function startOtherProcess(api: HookApi, { services }: HookProviders) {
  const clients = createServiceClients({ services });
  const reconciler = new RegistrationReconciler({
    ...{
      db: api.hookDb,
      sealer,
      service: clients.service,
      onError: (error) => api.reportedErrors.push(error),
    },
    types: new Map(triggerTypes.map((triggerType) => [triggerType.type, triggerType])),
    credentials: storedCredentials(api.store.database, sealer),
    now: () => api.now.ms,
    repeat: () => () => undefined,
  });
  return {
    reconciler,
    async close() {
      await reconciler.close();
      await clients.close();
    },
  };
}

describe.each(storesToTest('processes of registrations'))(
  'webhook registrations, with several processes on %s,',
  (store) => {
    let providers: HookProviders;
    let api: HookApi;

    beforeAll(async () => {
      providers = await startHookProviders();
      api = await openHookApi(store, providers);
    });
    afterAll(() => providers.close());

    it('are handled by one process at a time; if it stops before the provider has responded, another continues', async () => {
      const pendingResponse = Promise.withResolvers<undefined>();
      const countRequests = (method: string): number =>
        providers.requests.filter((request) => request.startsWith(`${method} github`)).length;
      providers.beforeResponse = () => ({ status: 503 });
      const id = await api.deployWebhookWorkflow(GITHUB.type, GITHUB.fields);
      await api.waitForStatus(id, 'failed');
      providers.beforeResponse = (request) =>
        request.startsWith('POST github') ? pendingResponse.promise : undefined;
      const requestCounts = { GET: countRequests('GET'), POST: countRequests('POST') };
      await api.hookDb
        .updateTable('provider_hooks')
        .set({ look_ms: api.now.ms })
        .where('workflow_id', '=', id)
        .execute();
      const otherProcesses = [startOtherProcess(api, providers), startOtherProcess(api, providers)];
      for (const { reconciler } of otherProcesses) reconciler.checkNow();
      await expect.poll(() => countRequests('POST')).toBe(requestCounts.POST + 1);
      for (const { close } of otherProcesses) await close();
      expect({ GET: countRequests('GET'), POST: countRequests('POST') }).toEqual({
        GET: requestCounts.GET + 1,
        POST: requestCounts.POST + 1,
      });
      providers.beforeResponse = () => undefined;
      expect(await api.hookRowOf(id)).toMatchObject({ lease_id: null, state: 'failed' });
      pendingResponse.resolve(undefined);
      api.advance(5000);
      await api.waitForStatus(id, 'active');
      expect(await api.hooksOf(id)).toHaveLength(1);
    });

    it('stay unchanged when a process that does not create webhooks changes the triggers', async () => {
      const id = await api.deployWebhookWorkflow(GITHUB.type, GITHUB.fields);
      await api.waitForStatus(id, 'active');
      const rowBefore = await api.hookRowOf(id);
      await new Triggers(triggerTypes).recordDesiredRegistrations(api.hookDb, {
        workflowId: id,
        nowMs: api.now.ms,
      });
      expect(await api.hookRowOf(id)).toEqual(rowBefore);
    });

    it('of earlier versions of Heddle get their provider in a migration', async () => {
      const location =
        store === 'postgres'
          ? { url: await createPostgresDatabase() }
          : { file: `${createDataFolder(onTestFinished)}/api.db` };
      const database = await openDatabase(location);
      onTestFinished(() => database.db.destroy());
      const { '0004': _providers, ...earlierMigrations } = TRIGGER_MIGRATIONS;
      await database.migrate('triggers', earlierMigrations);
      const db = database.db as unknown as Kysely<WebhookRegistrationTables>;
      const createHook = (config: JsonObject, type: string) => ({
        type,
        config,
        url: 'https://flows.heddle.test/x',
      });
      const present = JSON.stringify([createHook({ provider: 'stripe' }, 'stripe')]);
      const rows = [
        {
          block_id: 'a',
          wanted: JSON.stringify(createHook({ provider: 'github' }, 'github_v2')),
          present: '[]',
        },
        { block_id: 'b', wanted: JSON.stringify(createHook({}, 'pigeons')), present },
        { block_id: 'c', wanted: null, present },
        { block_id: 'd', wanted: null, present: '[]' },
      ];
      for (const row of rows)
        await db
          .insertInto('provider_hooks')
          .values({
            ...{ ...row, workflow_id: 'w', workspace_id: 'looms', trigger_id: 't', state: 'active' },
            ...{ is_retryable: 0, revision: 1, attempts: 0 },
          } as never)
          .execute();
      await database.migrate('triggers', TRIGGER_MIGRATIONS);
      const migratedRows = await db
        .selectFrom('provider_hooks')
        .select('provider')
        .orderBy('block_id')
        .execute();
      expect(migratedRows.map(({ provider }) => provider)).toEqual(['github', 'pigeons', 'stripe', '']);
    });
  },
);
