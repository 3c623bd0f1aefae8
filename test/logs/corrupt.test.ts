import type { RunSummary } from '@heddle/engine';
import { expect, it } from 'vitest';
import { LogIndexer } from '../../packages/service/src/logs/indexer.ts';
import { addWorkflow, logDatabase, rowsOf } from './setup.ts';

const RUN: RunSummary = {
  workflowId: 'w',
  status: 'completed',
  createdAt: '2026-01-01T00:00:00.000Z',
  startedAt: '2026-01-01T00:00:00.000Z',
  endedAt: '2026-01-01T00:00:01.000Z',
  durationMs: 1000,
  version: null,
  callerId: null,
  parentRunId: null,
  blockTypes: ['agent'],
  seq: 1,
} as unknown as RunSummary;

async function setUp(fault: () => unknown) {
  const db = await logDatabase();
  await addWorkflow(db, 'w');
  let changes = ['bad', 'good'].map((runId) => ({ runId, run: RUN }));
  const faults: string[] = [];
  const indexer = new LogIndexer({
    db,
    engine: {
      runChanges: async () => ({ changes, more: false, acknowledge: async () => void (changes = []) }),
      getTrace: async (id: string) => {
        if (id === 'bad') throw fault();
        return { type: 'run', children: [] };
      },
      readValue: async () => null,
    } as never,
    every: () => () => undefined,
    report: (error) => faults.push(String(error)),
  });
  return { db, indexer, faults };
}

it('indexes the other runs when a stored record is corrupt, and reports it once without its content', async () => {
  const { db, indexer, faults } = await setUp(() => new SyntaxError('Unexpected token in "hunter2"'));
  await indexer.updateAll();
  await indexer.updateAll();
  expect((await rowsOf(db)).map(({ run_id: id }) => id)).toEqual(['bad', 'good']);
  expect(faults).toEqual([expect.stringContaining('record of run bad is corrupt')]);
  expect(faults.join()).not.toContain('hunter2');
});

it('reads a batch again after an error that may pass', async () => {
  const { db, indexer } = await setUp(() => new Error('connection lost'));
  await expect(indexer.updateAll()).rejects.toThrow('connection lost');
  expect(await rowsOf(db)).toEqual([]);
});
