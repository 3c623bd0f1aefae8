import { describe, expect, it, onTestFinished } from 'vitest';
import { serviceAreas } from '@heddle/service';
import { takeLease } from '../../packages/service/src/retention/sweep.ts';
import { runRetention } from '../../packages/service/src/retention/runs.ts';
import type { RunLimits } from '../../packages/service/src/retention/runs.ts';
import { RetentionSweep } from '../../packages/service/src/retention/sweep.ts';
import { openServiceStore } from '../support/api.ts';
import { postgresDatabase, sampledStores } from '../support/postgres.ts';
import { TestClock } from '../support/test-clock.ts';
import { dataFolder } from '../support/data-folder.ts';
import { block, fn, workflow } from '../support/workflow.ts';
import { deploy, openIndexedEngine, rowsOf } from './setup.ts';
import type { IndexedEngine } from './setup.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const ECHO = workflow([fn('A', 'return "y".repeat(20_000)')], ['Start -> A']);

interface RetentionSetup extends IndexedEngine {
  clock: TestClock;
  workflowId: string;
  createSweep(limits: RunLimits): RetentionSweep;
  listIds(): Promise<string[]>;
}

async function setUp(url?: string, data?: string): Promise<RetentionSetup> {
  const clock = new TestClock(Date.parse('2026-01-01T00:00:00Z'));
  const indexed = await openIndexedEngine({ url, engine: { clock, ...(data !== undefined && { data }) } });
  const workflowId = await deploy(indexed, ECHO);
  return {
    ...indexed,
    clock,
    workflowId,
    createSweep: (limits) =>
      new RetentionSweep({
        jobs: [
          runRetention({
            engine: indexed.engine,
            db: indexed.db,
            limits,
            minAgeMs: HOUR,
            now: () => clock.now(),
            updateLog: () => indexed.indexer.updateAll(),
          }),
        ],
        db: indexed.db,
        now: () => clock.now(),
        every: () => () => undefined,
        pause: () => Promise.resolve(),
        report: (error) => indexed.errors.push(error),
      }),
    listIds: async () => {
      await indexed.indexer.updateAll();
      return (await rowsOf(indexed.db)).map(({ run_id: id }) => id);
    },
  };
}

const NAMES = sampledStores('retention');

describe.each(NAMES)('retention on %s', (name) => {
  const openDatabase = async (): Promise<string | undefined> =>
    name === 'postgres' ? postgresDatabase() : undefined;

  it('deletes only runs that ended before the limit, with their journals, logs and values', async () => {
    const { engine, clock, workflowId, createSweep, listIds } = await setUp(
      await openDatabase(),
      dataFolder(),
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
    clock.advance(2 * DAY);
    await engine.execute(workflowId, { again: true }, { runId: 'young' });
    expect(await listIds()).toEqual(['old', 'open', 'young']);
    const sweeper = createSweep({ maxAgeMs: DAY });
    await sweeper.sweep();
    await sweeper.close();
    expect(await listIds()).toEqual(['open', 'young']);
    await expect(engine.getRun('old')).rejects.toThrow(/old/);
    await expect(engine.getLogs('old')).rejects.toThrow(/old/);
    expect((await engine.getRun('young')).status).toBe('completed');
  });

  it('deletes the oldest ended runs until the total size is within the limit, except runs of the last hour', async () => {
    const { engine, clock, workflowId, createSweep, listIds } = await setUp(await openDatabase());
    for (const id of ['a', 'b', 'c', 'd']) {
      await engine.execute(workflowId, { id }, { runId: id });
      clock.advance(HOUR + 1);
    }
    await engine.execute(workflowId, {}, { runId: 'fresh' });
    await listIds();
    const sizes = await engine.runSizes(['a', 'b', 'c', 'd', 'fresh']);
    const totalBytes = [...sizes.values()].reduce((sum, bytes) => sum + bytes, 0);
    const [oldestBytes = 0] = sizes.values();
    const sweeper = createSweep({ maxBytes: totalBytes - oldestBytes });
    await sweeper.sweep();
    expect(await listIds()).toEqual(['b', 'c', 'd', 'fresh']);
    await sweeper.close();
    const strict = createSweep({ maxBytes: 1 });
    await strict.sweep();
    await strict.close();
    expect(await listIds()).toEqual(['fresh']);
  });

  it('does not block runs, which can start and end between two deletions', async () => {
    const { db, engine, clock, workflowId, listIds, indexer } = await setUp(await openDatabase());
    for (const runId of ['a', 'b', 'c']) await engine.execute(workflowId, {}, { runId });
    await listIds();
    clock.advance(2 * DAY);
    const statuses: string[] = [];
    const options = { limits: { maxAgeMs: DAY }, minAgeMs: HOUR, now: () => clock.now() };
    const sweep = new RetentionSweep({
      jobs: [runRetention({ engine, db, ...options, updateLog: () => indexer.updateAll() })],
      db,
      now: () => clock.now(),
      every: () => () => undefined,
      async pause() {
        const { runId, status } = await engine.execute(workflowId, {});
        statuses.push(status);
        expect(runId).toMatch(/./);
      },
      report: (error) => {
        throw error;
      },
    });
    await sweep.sweep();
    await sweep.close();
    expect(statuses).toEqual(['completed', 'completed', 'completed']);
    expect(await listIds()).toHaveLength(3);
  });

  it('runs in one process at a time, and in another process when the lease of the first expires', async () => {
    const { db, engine, clock, workflowId, createSweep, listIds } = await setUp(await openDatabase());
    await engine.execute(workflowId, {}, { runId: 'old' });
    await listIds();
    clock.advance(2 * DAY);
    const lease = { name: 'retention', owner: 'dead', leaseMs: 60_000 };
    expect(await takeLease(db, { ...lease, nowMs: clock.now() })).toBe(true);
    const sweeper = createSweep({ maxAgeMs: DAY });
    await sweeper.sweep();
    expect(await listIds()).toEqual(['old']);
    clock.advance(60_001);
    await sweeper.sweep();
    await sweeper.close();
    expect(await listIds()).toEqual([]);
  });
});

describe('retention', () => {
  it('deletes a child run only with its parent', async () => {
    const setup = await setUp();
    const { engine, clock, workflowId, createSweep, listIds } = setup;
    const parent = await deploy(
      setup,
      workflow([block('Call', 'workflow', { workflowId, input: '{}' })], ['Start -> Call'], { id: 'parent' }),
    );
    await engine.execute(parent, {}, { runId: 'parent-run' });
    expect(await listIds()).toHaveLength(2);
    clock.advance(2 * DAY);
    const sweeper = createSweep({ maxAgeMs: DAY });
    await sweeper.sweep();
    await sweeper.close();
    expect(await listIds()).toEqual([]);
  });

  it('refuses limits that could delete values of running blocks', async () => {
    const store = await openServiceStore();
    onTestFinished(() => store.close());
    for (const limits of [
      { maxAgeMs: HOUR - 1 },
      { maxBytes: 0 },
      { publicRunsMs: Number.NaN },
      { receiptsMs: HOUR - 1 },
    ])
      expect(() => serviceAreas({ store, retention: limits })).toThrow(Object.keys(limits)[0]);
  });

  it('continues with the next job if a job fails', async () => {
    const { db, clock, errors } = await setUp();
    const results: string[] = [];
    const sweep = new RetentionSweep({
      jobs: [
        () => Promise.reject(new Error('The disk is full.')),
        async (sweeping) => {
          results.push(String(await sweeping.next()));
        },
      ],
      db,
      now: () => clock.now(),
      every: () => () => undefined,
      pause: () => Promise.resolve(),
      report: (error) => errors.push(error),
    });
    await sweep.sweep();
    await sweep.close();
    expect(results).toEqual(['true']);
    expect(errors).toEqual([expect.objectContaining({ message: 'The disk is full.' })]);
  });

  it('stops if another process has taken the lease during a long deletion', async () => {
    const { db, clock, errors } = await setUp();
    const continued: boolean[] = [];
    const sweep = new RetentionSweep({
      jobs: [
        async (sweeping) => {
          clock.advance(61_000);
          const lease = { name: 'retention', owner: 'next', nowMs: clock.now(), leaseMs: 60_000 };
          expect(await takeLease(db, lease)).toBe(true);
          continued.push(await sweeping.next());
        },
        () => Promise.reject(new Error('This job must not begin.')),
      ],
      db,
      now: () => clock.now(),
      every: () => () => undefined,
      pause: () => Promise.resolve(),
      report: (error) => errors.push(error),
    });
    await sweep.sweep();
    await sweep.close();
    expect([continued, errors]).toEqual([[false], []]);
  });
});
