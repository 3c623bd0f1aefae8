import { EngineError } from '@heddle/core';
import type { Plan, RunRecord } from '@heddle/core';
import { describe, expect, it } from 'vitest';
import {
  createEntry,
  createBlockLog,
  createRunHeader,
  createRunRecord,
  createStartedEntry,
} from '../../../../test/support/run-data.ts';
import { listDetails } from '../resource.ts';
import { openStores } from '../store/open.ts';
import { readRun } from './read-run.ts';
import { Values } from './values.ts';

const UNREADABLE_PLAN_ERROR = new EngineError('PLAN_FORMAT_UNSUPPORTED', 'The plan cannot be read.');
const definitions = { plan: (): Promise<Plan> => Promise.reject(UNREADABLE_PLAN_ERROR) };
const suspensionReason = 'A secret is missing.';

/** Returns stores with a run whose journal is newer than its record. */
async function storesWithRun(runId: string, fields: { suspended?: string } = {}) {
  const stores = openStores();
  await stores.runs.create(createRunHeader(runId), createStartedEntry());
  await stores.runs.saveRecord(createRunRecord(runId, { seq: 1, ...fields }), [createBlockLog(runId, 1)]);
  await stores.runs.append(runId, [createEntry(2)]);
  return stores;
}

describe('a run whose journal cannot be read', () => {
  it('is returned as stored if it is suspended, because its record tells why', async () => {
    const stores = await storesWithRun('r', { suspended: suspensionReason });
    const run = await readRun({ stores, definitions }, 'r', { withLogs: true });
    expect(run).toMatchObject({
      record: { seq: 1, suspended: suspensionReason },
      logs: [{ executionOrder: 1 }],
    });
  });

  it('is refused if it is not suspended', async () => {
    const stores = await storesWithRun('r');
    await expect(readRun({ stores, definitions }, 'r', { withLogs: false })).rejects.toBe(
      UNREADABLE_PLAN_ERROR,
    );
  });

  it('is listed as stored, with the other runs', async () => {
    const stores = await storesWithRun('r');
    await stores.runs.create(
      createRunHeader('other'),
      createStartedEntry(),
      createRunRecord('other', { seq: 1 }),
    );
    const read = (listedRecord: RunRecord) =>
      readRun({ stores, definitions }, listedRecord.runId, { withLogs: false, listedRecord });
    const { runs } = await listDetails({ runs: stores.runs, values: new Values(stores.values), read }, {});
    expect(runs.map(({ runId }) => runId).toSorted()).toEqual(['other', 'r']);
  });

  it('fails a list only if the stores cannot be read', async () => {
    const { runs, values } = await storesWithRun('r');
    const read = () => Promise.reject(new Error('disk error'));
    await expect(listDetails({ runs, values: new Values(values), read }, {})).rejects.toThrow('disk error');
  });
});

it('a list by status keeps a run whose status has changed since it was stored, because a cursor counts the listed runs', async () => {
  const { runs, values } = openStores();
  await runs.create(
    createRunHeader('r'),
    createStartedEntry(),
    createRunRecord('r', { seq: 1, status: 'running' }),
  );
  const read = () => Promise.resolve({ record: createRunRecord('r', { seq: 2, status: 'completed' }) });
  const list = (query: Parameters<typeof listDetails>[1]) =>
    listDetails({ runs, values: new Values(values), read }, query);
  expect((await list({ status: ['running'] })).runs).toMatchObject([{ runId: 'r', status: 'running' }]);
  expect((await list({})).runs).toMatchObject([{ runId: 'r', status: 'completed' }]);
});
