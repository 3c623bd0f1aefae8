import { describe, expect, it, onTestFinished } from 'vitest';
import { serviceAreas } from '@heddle/service';
import { takeLease } from '../../packages/service/src/retention/sweep.ts';
import { runRetention } from '../../packages/service/src/retention/runs.ts';
import type { RunLimits } from '../../packages/service/src/retention/runs.ts';
import { RetentionSweeper } from '../../packages/service/src/retention/sweep.ts';
import { openServiceStore } from '../support/api.ts';
import { createPostgresDatabase, storesToTest } from '../support/postgres.ts';
import { TestClock } from '../support/test-clock.ts';
import { createDataFolder } from '../support/data-folder.ts';
import { block, fn, workflow } from '../support/workflow.ts';
import { deploy, openIndexedEngine, readLogRows } from './setup.ts';
import type { IndexedEngine } from './setup.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const LARGE_OUTPUT_WORKFLOW = workflow([fn('A', 'return "y".repeat(20_000)')], ['Start -> A']);

interface RetentionSetup extends IndexedEngine {
  clock: TestClock;
  workflowId: string;
  createSweeper(limits: RunLimits): RetentionSweeper;
  indexAndListIds(): Promise<string[]>;
}

async function setUp(url?: string, data?: string): Promise<RetentionSetup> {
  const clock = new TestClock(Date.parse('2026-01-01T00:00:00Z'));
  const indexedEngine = await openIndexedEngine({
    url,
    engine: { clock, ...(data !== undefined && { data }) },
  });
  const workflowId = await deploy(indexedEngine, LARGE_OUTPUT_WORKFLOW);
  return {
    ...indexedEngine,
    clock,
    workflowId,
    createSweeper: (limits) =>
      new RetentionSweeper({
        jobs: [
          runRetention({
            engine: indexedEngine.engine,
            db: indexedEngine.db,
            limits,
            minAgeMs: HOUR_MS,
            now: () => clock.now(),
            updateLog: () => indexedEngine.indexer.updateAll(),
          }),
        ],
        db: indexedEngine.db,
        now: () => clock.now(),
        repeat: () => () => undefined,
        pause: () => Promise.resolve(),
        onError: (error) => indexedEngine.errors.push(error),
      }),
    indexAndListIds: async () => {
      await indexedEngine.indexer.updateAll();
      return (await readLogRows(indexedEngine.db)).map(({ run_id: id }) => id);
    },
  };
}

const STORE_NAMES = storesToTest('retention');

describe.each(STORE_NAMES)('retention on %s', (name) => {
  const createPostgresUrl = async (): Promise<string | undefined> =>
    name === 'postgres' ? createPostgresDatabase() : undefined;

  it('deletes only runs that ended before the limit, with their journals, logs and values', async () => {
    const { engine, clock, workflowId, createSweeper, indexAndListIds } = await setUp(
      await createPostgresUrl(),
      createDataFolder(),
    );
    await engine.execute(workflowId, {}, { runId: 'old' });
    const trace = await engine.getTrace('old');
    const output = trace.children.at(-1)?.output;
    if (!output || !('ref' in output)) throw new Error('the output is not in the value store');
    await engine.execute(
      { workflow: workflow([block('Ask', 'human_in_the_loop', {})], ['Start -> Ask'], { id: workflowId }) },
      {},
      { runId: 'open' },
    );
    clock.advance(2 * DAY_MS);
    await engine.execute(workflowId, { again: true }, { runId: 'young' });
    expect(await indexAndListIds()).toEqual(['old', 'open', 'young']);
    const sweeper = createSweeper({ maxAgeMs: DAY_MS });
    await sweeper.sweep();
    await sweeper.close();
    expect(await indexAndListIds()).toEqual(['open', 'young']);
    await expect(engine.getRun('old')).rejects.toThrow(/old/);
    await expect(engine.getLogs('old')).rejects.toThrow(/old/);
    expect((await engine.getRun('young')).status).toBe('completed');
  });

  it('deletes the oldest ended runs until the total size is within the limit, except runs of the last hour', async () => {
    const { engine, clock, workflowId, createSweeper, indexAndListIds } = await setUp(
      await createPostgresUrl(),
    );
    for (const id of ['a', 'b', 'c', 'd']) {
      await engine.execute(workflowId, { id }, { runId: id });
      clock.advance(HOUR_MS + 1);
    }
    await engine.execute(workflowId, {}, { runId: 'fresh' });
    await indexAndListIds();
    const sizes = await engine.runSizes(['a', 'b', 'c', 'd', 'fresh']);
    const totalBytes = [...sizes.values()].reduce((sum, bytes) => sum + bytes, 0);
    const [oldestBytes = 0] = sizes.values();
    const sweeper = createSweeper({ maxBytes: totalBytes - oldestBytes });
    await sweeper.sweep();
    expect(await indexAndListIds()).toEqual(['b', 'c', 'd', 'fresh']);
    await sweeper.close();
    const strictSweeper = createSweeper({ maxBytes: 1 });
    await strictSweeper.sweep();
    await strictSweeper.close();
    expect(await indexAndListIds()).toEqual(['fresh']);
  });

  it('does not block runs, which can start and end between two deletions', async () => {
    const { db, engine, clock, workflowId, indexAndListIds, indexer } = await setUp(
      await createPostgresUrl(),
    );
    for (const runId of ['a', 'b', 'c']) await engine.execute(workflowId, {}, { runId });
    await indexAndListIds();
    clock.advance(2 * DAY_MS);
    const statuses: string[] = [];
    const options = { limits: { maxAgeMs: DAY_MS }, minAgeMs: HOUR_MS, now: () => clock.now() };
    const sweeper = new RetentionSweeper({
      jobs: [runRetention({ engine, db, ...options, updateLog: () => indexer.updateAll() })],
      db,
      now: () => clock.now(),
      repeat: () => () => undefined,
      async pause() {
        const { runId, status } = await engine.execute(workflowId, {});
        statuses.push(status);
        expect(runId).toMatch(/./);
      },
      onError: (error) => {
        throw error;
      },
    });
    await sweeper.sweep();
    await sweeper.close();
    expect(statuses).toEqual(['completed', 'completed', 'completed']);
    expect(await indexAndListIds()).toHaveLength(3);
  });

  it('runs in one process at a time, and in another process when the lease of the first expires', async () => {
    const { db, engine, clock, workflowId, createSweeper, indexAndListIds } = await setUp(
      await createPostgresUrl(),
    );
    await engine.execute(workflowId, {}, { runId: 'old' });
    await indexAndListIds();
    clock.advance(2 * DAY_MS);
    const lease = { name: 'retention', owner: 'dead', leaseMs: 60_000 };
    expect(await takeLease(db, { ...lease, nowMs: clock.now() })).toBe(true);
    const sweeper = createSweeper({ maxAgeMs: DAY_MS });
    await sweeper.sweep();
    expect(await indexAndListIds()).toEqual(['old']);
    clock.advance(60_001);
    await sweeper.sweep();
    await sweeper.close();
    expect(await indexAndListIds()).toEqual([]);
  });
});

describe('retention', () => {
  it('deletes a child run only with its parent', async () => {
    const setup = await setUp();
    const { engine, clock, workflowId, createSweeper, indexAndListIds } = setup;
    const parentWorkflowId = await deploy(
      setup,
      workflow([block('Call', 'workflow', { workflowId, input: '{}' })], ['Start -> Call'], { id: 'parent' }),
    );
    await engine.execute(parentWorkflowId, {}, { runId: 'parent-run' });
    expect(await indexAndListIds()).toHaveLength(2);
    clock.advance(2 * DAY_MS);
    const sweeper = createSweeper({ maxAgeMs: DAY_MS });
    await sweeper.sweep();
    await sweeper.close();
    expect(await indexAndListIds()).toEqual([]);
  });

  it('refuses limits that could delete values of running blocks', async () => {
    const store = await openServiceStore();
    onTestFinished(() => store.close());
    for (const limits of [
      { maxAgeMs: HOUR_MS - 1 },
      { maxBytes: 0 },
      { publicRunsMs: Number.NaN },
      { receiptsMs: HOUR_MS - 1 },
    ])
      expect(() => serviceAreas({ store, retention: limits })).toThrow(Object.keys(limits)[0]);
  });

  it('continues with the next job if a job fails', async () => {
    const { db, clock, errors } = await setUp();
    const results: string[] = [];
    const sweeper = new RetentionSweeper({
      jobs: [
        () => Promise.reject(new Error('The disk is full.')),
        async (context) => {
          results.push(String(await context.continueAfterPause()));
        },
      ],
      db,
      now: () => clock.now(),
      repeat: () => () => undefined,
      pause: () => Promise.resolve(),
      onError: (error) => errors.push(error),
    });
    await sweeper.sweep();
    await sweeper.close();
    expect(results).toEqual(['true']);
    expect(errors).toEqual([expect.objectContaining({ message: 'The disk is full.' })]);
  });

  it('stops if another process has taken the lease during a long deletion', async () => {
    const { db, clock, errors } = await setUp();
    const results: boolean[] = [];
    const sweeper = new RetentionSweeper({
      jobs: [
        async (context) => {
          clock.advance(61_000);
          const lease = { name: 'retention', owner: 'next', nowMs: clock.now(), leaseMs: 60_000 };
          expect(await takeLease(db, lease)).toBe(true);
          results.push(await context.continueAfterPause());
        },
        () => Promise.reject(new Error('This job must not begin.')),
      ],
      db,
      now: () => clock.now(),
      repeat: () => () => undefined,
      pause: () => Promise.resolve(),
      onError: (error) => errors.push(error),
    });
    await sweeper.sweep();
    await sweeper.close();
    expect([results, errors]).toEqual([[false], []]);
  });
});
