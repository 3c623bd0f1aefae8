import { randomUUID } from 'node:crypto';
import { Client } from 'pg';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { PostgresOptions, SharedStores } from '@heddle/engine/stores';
import { describeConversations } from '../conformance/stores/conversations.ts';
import { describeDefinitionStore } from '../conformance/stores/definition-store.ts';
import { describeLiveEvents } from '../conformance/stores/live-events.ts';
import { describeRates } from '../conformance/stores/rates.ts';
import { describeSpending } from '../conformance/stores/spending.ts';
import { describeRunChanges } from '../conformance/stores/run-changes.ts';
import { describeRunStore } from '../conformance/stores/run-store.ts';
import { describeTailableRunStore } from '../conformance/stores/tailable-run-store.ts';
import { describePruning, describeValueStore } from '../conformance/stores/value-store.ts';
import { Database } from '../../packages/engine/src/store/postgres/database.ts';
import { migrate, MIGRATIONS } from '../../packages/engine/src/store/postgres/migrations.ts';
import { hasPostgres, createPostgresDatabase } from '../support/postgres.ts';
import { sample, pickByScale } from '../support/scale.ts';
import {
  createEntry,
  createBlockLog,
  createRunHeader,
  createRunRecord,
  createStartedEntry,
} from '../support/run-data.ts';
import { openPostgresStores, queryAsSuperuser } from './postgres-stores.ts';
import { startChild } from './process.ts';

let url = '';

const open = (options: Partial<PostgresOptions> = {}): Promise<SharedStores> =>
  openPostgresStores({ url, ...options });
const runQuery = (query: string): Promise<unknown[]> => queryAsSuperuser(url, query);

/** Terminates the connections in this state, and returns their number. `active`: only those that wait for a lock. */
async function terminateConnections(state: 'idle' | 'active'): Promise<number> {
  const waitCondition = state === 'active' ? "AND wait_event_type = 'Lock'" : '';
  const terminatedRows = await runQuery(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()
     AND pid <> pg_backend_pid() AND state = '${state}' ${waitCondition}`,
  );
  return terminatedRows.length;
}

describe.skipIf(!hasPostgres)('PostgreSQL', () => {
  beforeAll(async () => {
    url = await createPostgresDatabase();
  });

  const openTwice = async <Name extends keyof SharedStores>(name: Name) => {
    const schema = `s ${randomUUID()}`;
    return { firstStore: (await open({ schema }))[name], secondStore: (await open({ schema }))[name] };
  };
  const suites = [
    () => describeRunStore('postgres', async () => (await open()).runs),
    () => describeTailableRunStore('postgres', () => openTwice('runs')),
    () => describeValueStore('postgres', async () => (await open()).values),
    () => describePruning('postgres', open),
    () => describeRunChanges('postgres', open),
    () => describeConversations('postgres', async () => (await open()).conversations),
    () => describeLiveEvents('postgres', () => openTwice('liveEvents')),
    () => describeSpending('postgres', () => openTwice('spending')),
    () => describeRates('postgres', () => openTwice('rates')),
    () => describeDefinitionStore('postgres', async () => (await open()).definitions),
  ];
  for (const describeSuite of sample(suites, 4, 'suites of stores on PostgreSQL')) describeSuite();

  it('notifies watchers of live events even after the listening connection was lost', async () => {
    const schema = `s ${randomUUID()}`;
    const [publishingStore, watchingStore] = [
      (await open({ schema })).liveEvents,
      (await open({ schema })).liveEvents,
    ];
    let notificationCount = 0;
    onTestFinished(watchingStore.watch('r', () => (notificationCount += 1)));
    await expect.poll(() => notificationCount).toBeGreaterThan(0);
    expect(await terminateConnections('idle')).toBeGreaterThan(0);
    // A new connection notifies all watchers, because notifications may have been lost.
    const countAtLoss = notificationCount;
    await expect.poll(() => notificationCount, { timeout: 5000 }).toBeGreaterThan(countAtLoss);
    const countAtReconnect = notificationCount;
    await publishingStore.publish('r', [{ place: 'b', json: '1' }]);
    await expect.poll(() => notificationCount).toBeGreaterThan(countAtReconnect);
  });

  describe('several stores of one schema', () => {
    it('create the tables once if they open at the same time, and read each other’s writes', async () => {
      const schema = `s ${randomUUID()}`;
      const allStores = await Promise.all(
        Array.from({ length: 8 }, () => open({ schema, maxConnections: 2 })),
      );
      const [firstStores, secondStores] = allStores as [SharedStores, SharedStores];
      await firstStores.runs.create(createRunHeader('r'), createStartedEntry());
      await secondStores.runs.append('r', [createEntry(2)]);
      expect(await firstStores.runs.tail('r', 1)).toEqual([createEntry(2)]);
      expect(await runQuery(`SELECT format FROM "${schema}".format`)).toEqual([{ format: 8 }]);
    });

    it('migrate a schema of format 2 so that runs have their parents and old values are never pruned', async () => {
      const schema = `s ${randomUUID()}`;
      const database = new Database({ url, schema, maxConnections: 1 });
      onTestFinished(() => database.close());
      await migrate(database, MIGRATIONS.slice(0, 2));
      const parent = { runId: 'p', block: 'b', scope: [], depth: 1 };
      const header = JSON.stringify(createRunHeader('r', { parent, mocks: { text: '\u0000' } }));
      await runQuery(`INSERT INTO "${schema}".runs (run_id, workflow_id, created_ms, header, ended)
        VALUES ('r', 'w', 1, '${header}', true)`);
      await runQuery(`INSERT INTO "${schema}".stored_values VALUES ('k', '"old"')`);
      const { runs, values } = await open({ schema });
      expect(await runs.childRunIds('p')).toEqual(['r']);
      await values.prune(['k'], 0);
      expect(await values.get('k')).toBe('"old"');
    });

    it('assign one version to each plan if they deploy at the same time', async () => {
      const schema = `s ${randomUUID()}`;
      const [firstStores, secondStores] = [await open({ schema }), await open({ schema })];
      const plans = Array.from({ length: 10 }, (_, index) => `p${index}`);
      for (const hash of plans) await firstStores.definitions.putPlan(hash, { hash });
      const deploy = async (stores: SharedStores, planHash: string) =>
        stores.definitions.deploy({ workflowId: 'w', name: 'W', planHash, atMs: 1 });
      const versions = await Promise.all(
        plans.map((hash, index) => deploy(index % 2 ? firstStores : secondStores, hash)),
      );
      expect(versions.toSorted((a, b) => a - b)).toEqual(plans.map((_, index) => index + 1));
      const redeployedVersions = await Promise.all([
        deploy(firstStores, 'p0'),
        deploy(secondStores, 'p0'),
        deploy(firstStores, 'p0'),
      ]);
      expect(new Set(redeployedVersions).size).toBe(1);
    });
  });

  describe('several processes', () => {
    it('create a run once, and store each entry once and in order if they write the same entries', async () => {
      const schema = `s ${randomUUID()}`;
      const count = pickByScale(60, 300);
      const writers = Array.from({ length: 3 }, () => startChild('share', url, `${schema}|r|${count}`));
      const creationResults = await Promise.all(
        writers.map(async (writer) => (await writer.waitForLines(1))[0]),
      );
      expect(creationResults.filter((isCreated) => isCreated === true)).toHaveLength(1);
      for (const writer of writers) expect(await writer.exitCode, writer.readStderr()).toBe(0);
      const { runs } = await open({ schema });
      expect((await runs.journal('r')).map((storedEntry) => storedEntry.seq)).toEqual(
        Array.from({ length: count }, (_, index) => index + 1),
      );
      expect(await runs.record('r')).toMatchObject({ seq: count });
      expect(await runs.logs('r')).toMatchObject([{ startedMs: count }]);
    });

    it('lose no commit if one process is killed, and other processes continue', async () => {
      const schema = `s ${randomUUID()}`;
      const writer = startChild('append', url, `${schema}|r`);
      await writer.waitForLines(50);
      await writer.kill();
      const lastSeq = writer.values.at(-1) as number;
      const { runs } = await open({ schema });
      const seqs = (await runs.journal('r')).map((storedEntry) => storedEntry.seq);
      expect(seqs.length).toBeGreaterThanOrEqual(lastSeq);
      expect(seqs.length % 2).toBe(1);
      await runs.append('r', [createEntry(seqs.length + 1)]);
    });
  });

  describe('connections', () => {
    it('are replaced if they are lost while idle', async () => {
      const stores = await open({ maxConnections: 1 });
      await stores.runs.create(createRunHeader('r'), createStartedEntry());
      await terminateConnections('idle');
      await expect.poll(() => stores.runs.unfinishedRunIds()).toEqual(['r']);
    });

    it('fail with DATA_UNREACHABLE if they are lost during a write, and the next call opens a new one', async () => {
      const schema = `s ${randomUUID()}`;
      const stores = await open({ schema, maxConnections: 1 });
      const lockingClient = new Client({ connectionString: url });
      await lockingClient.connect();
      onTestFinished(() => lockingClient.end());
      await lockingClient.query(`BEGIN; LOCK TABLE "${schema}".plans`);
      const write = (async () => stores.definitions.putPlan('p', 1))().catch((error: unknown) => error);
      await expect.poll(() => terminateConnections('active')).toBe(1);
      expect(await write).toMatchObject({
        code: 'DATA_UNREACHABLE',
        message: expect.stringMatching(
          /connection was lost, and the last write may or may not have been made/,
        ) as string,
      });
      await lockingClient.query('ROLLBACK');
      await stores.definitions.putPlan('p', 1);
      expect(await stores.definitions.plan('p')).toBe(1);
    });

    it('never exceed the configured maximum', async () => {
      const namedUrl = new URL(url);
      namedUrl.searchParams.set('application_name', 'few');
      const stores = await open({ url: namedUrl.href, maxConnections: 2 });
      const ids = Array.from({ length: 30 }, (_, index) => `r${index}`);
      await Promise.all(ids.map(async (id) => stores.runs.create(createRunHeader(id), createStartedEntry())));
      expect(await stores.runs.unfinishedRunIds()).toHaveLength(30);
      expect(await runQuery("SELECT pid FROM pg_stat_activity WHERE application_name = 'few'")).toHaveLength(
        2,
      );
    });
  });

  describe('close', () => {
    it('waits for pending calls, can be called again, and refuses later calls', async () => {
      const schema = `s ${randomUUID()}`;
      const stores = await open({ schema, maxConnections: 1 });
      const writes = Array.from({ length: 20 }, async (_, index) =>
        stores.runs.create(createRunHeader(`r${index}`), createStartedEntry()),
      );
      await Promise.all([stores.close(), stores.close()]);
      expect(await Promise.all(writes)).toEqual(writes.map(() => true));
      await expect((async () => stores.runs.unfinishedRunIds())()).rejects.toMatchObject({
        code: 'ENGINE_CLOSED',
      });
      expect(await (await open({ schema })).runs.unfinishedRunIds()).toHaveLength(20);
    });
  });

  it('appends no entry if the record with it cannot be saved', async () => {
    const { runs } = await open();
    await runs.create(createRunHeader('r'), createStartedEntry());
    // The column of the sequence number accepts only integers.
    const projection = { record: createRunRecord('r', { seq: 2.5 }), logs: [] };
    await expect((async () => runs.append('r', [createEntry(2)], projection))()).rejects.toThrow('2.5');
    expect(await runs.journal('r')).toEqual([createStartedEntry()]);
  });

  it('makes large writes atomically, in one statement', async () => {
    const { runs } = await open();
    await runs.create(createRunHeader('r'), createStartedEntry());
    const entries = Array.from({ length: 20_000 }, (_, index) => createEntry(index + 2));
    await runs.append('r', entries);
    await expect((async () => runs.append('r', [createEntry(20_002), createEntry(5)]))()).rejects.toThrow(
      /twice/,
    );
    expect(await runs.journal('r')).toHaveLength(20_001);
    const logs = Array.from({ length: 5000 }, (_, index) => createBlockLog('r', index));
    await runs.saveRecord(createRunRecord('r'), [...logs, createBlockLog('r', 7, { tries: 3 })]);
    expect((await runs.logs('r'))[7]).toMatchObject({ tries: 3 });
  });
});
