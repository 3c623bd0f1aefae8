import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { Lease, LeasedStores } from '../../packages/engine/src/store/leases.ts';
import { openLeasedStores } from '../../packages/engine/src/store/open-postgres.ts';
import { hasPostgres, createPostgresDatabase } from '../support/postgres.ts';
import {
  createEntry,
  createBlockLog,
  createRunHeader,
  createRunRecord,
  createStartedEntry,
} from '../support/run-data.ts';
import { queryAsSuperuser } from '../stores/postgres-stores.ts';

let url = '';
const LONG_LEASE_MS = 600_000;

interface StoresWithSchema extends LeasedStores {
  schema: string;
}

async function openStores(schema: string = randomUUID()): Promise<StoresWithSchema> {
  const stores = await openLeasedStores({ url, schema, maxConnections: 4 });
  onTestFinished(() => stores.close());
  return { ...stores, schema };
}

/** Registers processes and returns their ids. */
async function addOwners(
  { leases }: LeasedStores,
  count: number,
  leaseMs = LONG_LEASE_MS,
): Promise<string[]> {
  const owners = Array.from({ length: count }, () => randomUUID());
  for (const owner of owners) await leases.join(owner, leaseMs);
  return owners;
}

async function createRun(
  { leases }: LeasedStores,
  owner: string,
  runId: string,
  fields = {},
): Promise<Lease> {
  const lease = await leases.create(
    owner,
    createRunHeader(runId, fields),
    createStartedEntry(),
    createRunRecord(runId),
  );
  if (!lease) throw new Error(`The id ${runId} is taken.`);
  return lease;
}

const heldByOtherError = (runId: string) => ({ code: 'RUN_ELSEWHERE', details: { runId, held: true } });

describe.skipIf(!hasPostgres)('leases in PostgreSQL', () => {
  beforeAll(async () => {
    url = await createPostgresDatabase();
  });

  it('only the process that has acquired a run can write to it', async () => {
    const stores = await openStores();
    const [firstOwner = '', secondOwner = ''] = await addOwners(stores, 2);
    const { leases, runs } = stores;
    const oldLease = await createRun(stores, firstOwner, 'r');
    const writer = leases.runStore(oldLease);
    await writer.append('r', [createEntry(2)], {
      record: createRunRecord('r', { seq: 2 }),
      logs: [createBlockLog('r', 1)],
    });
    expect(await leases.acquire(secondOwner, 'r')).toBeUndefined();
    await leases.leave(firstOwner);
    const newLease = await leases.acquire(secondOwner, 'r');
    expect(newLease).toEqual({ runId: 'r', owner: secondOwner, epoch: 2 });
    const expectedState = [await runs.journal('r'), await runs.record('r'), await runs.logs('r')];

    await expect(writer.append('r', [createEntry(3)])).rejects.toMatchObject(heldByOtherError('r'));
    const lateSave = {
      record: createRunRecord('r', { seq: 9, status: 'failed' }),
      logs: [createBlockLog('r', 2)],
    } as const;
    await expect(writer.append('r', [createEntry(3)], lateSave)).rejects.toMatchObject(heldByOtherError('r'));
    await expect(writer.saveRecord(lateSave.record, lateSave.logs)).rejects.toMatchObject(
      heldByOtherError('r'),
    );
    await leases.release(oldLease);
    expect([await runs.journal('r'), await runs.record('r'), await runs.logs('r')]).toEqual(expectedState);
    await leases.runStore(newLease as Lease).append('r', [createEntry(3)]);
    expect(await runs.journal('r')).toHaveLength(3);
  });

  it('a removed process cannot write to its runs, even before another process has acquired them', async () => {
    const stores = await openStores();
    const [owner = ''] = await addOwners(stores, 1);
    const lease = await createRun(stores, owner, 'r');
    await stores.leases.leave(owner);
    await expect(stores.leases.runStore(lease).append('r', [createEntry(2)])).rejects.toMatchObject(
      heldByOtherError('r'),
    );
    await expect(createRun(stores, owner, 'other')).rejects.toThrow('did not renew its leases in time');
    expect(await stores.runs.header('other')).toBeUndefined();
    await expect(stores.leases.acquire(owner, 'r')).rejects.toThrow('did not renew its leases in time');
    expect(await stores.leases.renew(owner, LONG_LEASE_MS)).toBe(false);
  });

  it('a process that acquires a run again can write to it only with the new lease', async () => {
    const stores = await openStores();
    const [owner = ''] = await addOwners(stores, 1);
    const oldLease = await createRun(stores, owner, 'r');
    const newLease = (await stores.leases.acquire(owner, 'r')) as Lease;
    expect(newLease.epoch).toBe(2);
    await expect(stores.leases.runStore(oldLease).append('r', [createEntry(2)])).rejects.toMatchObject(
      heldByOtherError('r'),
    );
    await stores.leases.runStore(newLease).append('r', [createEntry(2)]);
  });

  it('a record older than the stored one is ignored, but entries of the same call are written', async () => {
    const stores = await openStores();
    const [owner = ''] = await addOwners(stores, 1);
    const writer = stores.leases.runStore(await createRun(stores, owner, 'r'));
    expect(await writer.saveRecord(createRunRecord('r', { seq: 5 }), [])).toBe(true);
    expect(await writer.saveRecord(createRunRecord('r', { seq: 4 }), [createBlockLog('r', 1)])).toBe(false);
    await writer.append('r', [createEntry(2)], {
      record: createRunRecord('r', { seq: 2 }),
      logs: [createBlockLog('r', 1)],
    });
    expect(await stores.runs.record('r')).toMatchObject({ seq: 5 });
    expect(await stores.runs.logs('r')).toEqual([]);
    expect(await stores.runs.journal('r')).toHaveLength(2);
    await expect(writer.append('r', [createEntry(2)])).rejects.toThrow(/written twice/);
  });

  it('writes of one run are executed in the order of the calls', async () => {
    const stores = await openStores();
    const [owner = ''] = await addOwners(stores, 1);
    const writer = stores.leases.runStore(await createRun(stores, owner, 'r'));
    const calls: unknown[] = [];
    for (let seq = 2; seq < 100; seq += 2) {
      calls.push(writer.append('r', [createEntry(seq), createEntry(seq + 1)]));
      calls.push(writer.saveRecord(createRunRecord('r', { seq }), [createBlockLog('r', seq)]));
      const lastSave = {
        record: createRunRecord('r', { seq: seq + 1 }),
        logs: [createBlockLog('r', seq + 1)],
      };
      calls.push(writer.append('r', [], lastSave));
    }
    expect(await Promise.all(calls)).not.toContain(false);
    const executionOrders = (await stores.runs.logs('r')).map(({ executionOrder }) => executionOrder);
    expect(executionOrders).toEqual(Array.from({ length: 98 }, (_, n) => n + 2));
  });

  it('an ended run has no owner, and its last owner may still save its record', async () => {
    const stores = await openStores();
    const [firstOwner = '', secondOwner = ''] = await addOwners(stores, 2);
    const writer = stores.leases.runStore(await createRun(stores, firstOwner, 'r'));
    const endedRecord = createRunRecord('r', { seq: 2, status: 'completed' });
    await writer.append('r', [createEntry(2)], { record: endedRecord, logs: [] });
    expect(await queryAsSuperuser(url, `SELECT owner FROM "${stores.schema}".runs`)).toEqual([
      { owner: null },
    ]);
    expect(await writer.saveRecord(endedRecord, [createBlockLog('r', 1)])).toBe(true);
    expect(await stores.leases.acquire(secondOwner, 'r')).toBeUndefined();
    expect(await stores.leases.claim(secondOwner, 10)).toEqual([]);
  });

  it('processes whose lease has expired by the clock of the database are removed', async () => {
    const stores = await openStores();
    const [deadOwner = '', livingOwner = ''] = [
      ...(await addOwners(stores, 1, 1)),
      ...(await addOwners(stores, 1)),
    ];
    // The clock of the database must advance past the end of the lease.
    await queryAsSuperuser(url, 'SELECT pg_sleep(0.01)');
    const [deadLease, livingLease] = [
      await createRun(stores, deadOwner, 'a'),
      await createRun(stores, livingOwner, 'b'),
    ];
    await stores.leases.removeExpiredOwners();
    expect(await stores.leases.renew(livingOwner, LONG_LEASE_MS)).toBe(true);
    await stores.leases.runStore(livingLease).append('b', [createEntry(2)]);
    await expect(stores.leases.runStore(deadLease).append('a', [createEntry(2)])).rejects.toMatchObject(
      heldByOtherError('a'),
    );
    expect(await stores.leases.claim(livingOwner, 10)).toEqual([
      { runId: 'a', owner: livingOwner, epoch: 2 },
    ]);
  });

  it('runs without an owner are claimed in equal shares, oldest first, each by one process', async () => {
    const stores = await openStores();
    const [leavingOwner = '', ...owners] = await addOwners(stores, 4);
    for (let n = 0; n < 30; n++) await createRun(stores, leavingOwner, `r${n}`, { createdMs: 1000 + n });
    await stores.leases.leave(leavingOwner);
    const firstClaim = await stores.leases.claim(owners[0] ?? '', 100);
    expect(firstClaim.map(({ runId }) => runId)).toEqual(Array.from({ length: 10 }, (_, n) => `r${n}`));
    const laterClaims = await Promise.all(
      owners.flatMap((owner) => [stores.leases.claim(owner, 3), stores.leases.claim(owner, 3)]),
    );
    const claimedRunIds = [...firstClaim, ...laterClaims.flat()].map(({ runId }) => runId);
    expect(new Set(claimedRunIds).size).toBe(claimedRunIds.length);
    for (const leases of laterClaims) expect(leases.length).toBeLessThanOrEqual(3);
    for (let count = 1; count > 0;)
      count = (await Promise.all(owners.map((owner) => stores.leases.claim(owner, 100)))).flat().length;
    expect(await queryAsSuperuser(url, `SELECT 1 FROM "${stores.schema}".runs WHERE owner IS NULL`)).toEqual(
      [],
    );
  });

  it('runs that are idle, have ended, belong to another runtime or have an unfinished parent cannot be claimed', async () => {
    const stores = await openStores();
    const [firstOwner = '', secondOwner = ''] = await addOwners(stores, 2);
    const { leases } = stores;
    await leases.release(await createRun(stores, firstOwner, 'paused'));
    await createRun(stores, firstOwner, 'parent');
    const parent = { runId: 'parent', block: 'b', scope: [], depth: 1 };
    await createRun(stores, firstOwner, 'child', { parent });
    await createRun(stores, firstOwner, 'orphan', { parent: { ...parent, runId: 'gone' } });
    await stores.runs.create(
      createRunHeader('temporal', { elsewhere: true }),
      createStartedEntry(),
      createRunRecord('temporal'),
    );
    await leases.leave(firstOwner);
    const claimedLeases = await leases.claim(secondOwner, 10);
    expect(claimedLeases.map(({ runId }) => runId).toSorted()).toEqual(['orphan', 'parent']);
    expect(await leases.acquire(secondOwner, 'temporal')).toBeUndefined();
    expect(await leases.acquire(secondOwner, 'paused')).toMatchObject({ epoch: 2 });
    expect(await leases.acquire(secondOwner, 'child')).toMatchObject({ epoch: 2 });
  });

  it('findUnownedRuns returns only runs that should continue and have no living owner', async () => {
    const stores = await openStores();
    const [deadOwner = '', livingOwner = ''] = [
      ...(await addOwners(stores, 1, 1)),
      ...(await addOwners(stores, 1)),
    ];
    const { leases } = stores;
    await queryAsSuperuser(url, 'SELECT pg_sleep(0.01)');
    await createRun(stores, deadOwner, 'left');
    await createRun(stores, livingOwner, 'held');
    await leases.release(await createRun(stores, livingOwner, 'resting'));
    await stores.runs.create(createRunHeader('free'), createStartedEntry(), createRunRecord('free'));
    await stores.runs.create(
      createRunHeader('temporal', { elsewhere: true }),
      createStartedEntry(),
      createRunRecord('temporal'),
    );
    const runIds = ['left', 'held', 'resting', 'free', 'temporal', 'unknown'];
    expect((await leases.findUnownedRuns(runIds)).toSorted()).toEqual(['free', 'left']);
    expect(await leases.findUnownedRuns(['held'])).toEqual([]);
  });

  it('only one of many concurrent processes acquires or creates a run', async () => {
    const stores = await openStores();
    const owners = await addOwners(stores, 8);
    await stores.leases.release(await createRun(stores, owners[0] ?? '', 'r'));
    const leases = await Promise.all(owners.map((owner) => stores.leases.acquire(owner, 'r')));
    expect(leases.filter((lease) => lease !== undefined)).toHaveLength(1);
    const creations = await Promise.all(
      owners.map((owner) =>
        stores.leases.create(owner, createRunHeader('same'), createStartedEntry(), createRunRecord('same')),
      ),
    );
    expect(creations.filter((lease) => lease !== undefined)).toHaveLength(1);
  });

  it('a schema of format 1 is migrated with its runs', async () => {
    const { schema, runs, close } = await openStores();
    const parent = { runId: 'p', block: 'b', scope: [], depth: 1 };
    await runs.create(
      createRunHeader('remote', { elsewhere: true, mocks: { text: '\0' } }),
      createStartedEntry(),
    );
    await runs.create(createRunHeader('child', { parent }), createStartedEntry(), createRunRecord('child'));
    await runs.append('child', [createEntry(2)]);
    await close();
    await queryAsSuperuser(
      url,
      `SET search_path TO "${schema}";
       DROP TRIGGER run_created ON runs;
       DROP TRIGGER run_changed ON runs;
       DROP FUNCTION record_run_change;
       DROP TABLE run_changes, run_feed, steps, exchanges, live_events, live_streams, spending, spending_calls, rates;
       DROP FUNCTION record_step_value_uses;
       DROP TRIGGER journal_value_uses ON journal;
       DROP FUNCTION record_value_uses;
       DROP TABLE value_uses;
       ALTER TABLE stored_values DROP COLUMN put_at;
       DROP TABLE requests;
       ALTER TABLE runs DROP COLUMN parent, DROP COLUMN elsewhere, DROP COLUMN resting, DROP COLUMN owner, DROP COLUMN epoch;
       DROP TABLE processes;
       UPDATE format SET format = 1`,
    );
    const upgradedStores = await openStores(schema);
    const [owner = ''] = await addOwners(upgradedStores, 1);
    expect(await upgradedStores.runs.journal('child')).toHaveLength(2);
    expect(await upgradedStores.leases.claim(owner, 10)).toEqual([{ runId: 'child', owner, epoch: 1 }]);
    expect(await queryAsSuperuser(url, `SELECT parent FROM "${schema}".runs WHERE run_id = 'child'`)).toEqual(
      [{ parent: 'p' }],
    );
    expect(await upgradedStores.leases.acquire(owner, 'remote')).toBeUndefined();
  });
});
