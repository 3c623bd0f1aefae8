import { describe, expect, it } from 'vitest';
import { RunRetention } from '../../packages/service/src/logs/retention.ts';
import type { RetentionLimits } from '../../packages/service/src/logs/retention.ts';
import { takeLease } from '../../packages/service/src/logs/lease.ts';
import { hasPostgres, postgresDatabase } from '../support/postgres.ts';
import { TestClock } from '../support/test-clock.ts';
import { dataFolder } from '../support/data-folder.ts';
import { block, fn, workflow } from '../support/workflow.ts';
import { deploy, indexed, rowsOf } from './setup.ts';
import type { Indexed } from './setup.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const ECHO = workflow([fn('A', 'return "y".repeat(20_000)')], ['Start -> A']);

interface World extends Indexed {
  clock: TestClock;
  workflowId: string;
  retention(limits: RetentionLimits): RunRetention;
  ids(): Promise<string[]>;
}

async function world(url?: string, data?: string): Promise<World> {
  const clock = new TestClock(Date.parse('2026-01-01T00:00:00Z'));
  const made = await indexed({ url, engine: { clock, ...(data !== undefined && { data }) } });
  const workflowId = await deploy(made, ECHO);
  return {
    ...made,
    clock,
    workflowId,
    retention: (limits) =>
      new RunRetention({
        ...{ engine: made.engine, db: made.db, limits },
        now: () => clock.now(),
        every: () => () => undefined,
        index: () => made.indexer.updateAll(),
        pause: () => Promise.resolve(),
        report: (error) => made.faults.push(error),
      }),
    ids: async () => {
      await made.indexer.updateAll();
      return (await rowsOf(made.db)).map(({ run_id: id }) => id);
    },
  };
}

const NAMES = hasPostgres ? (['sqlite', 'postgres'] as const) : (['sqlite'] as const);

describe.each(NAMES)('retention on %s', (name) => {
  const url = async (): Promise<string | undefined> => (name === 'postgres' ? postgresDatabase() : undefined);

  it('deletes runs that ended before the limit, with journal, logs and values, and no others', async () => {
    const { engine, clock, workflowId, retention, ids } = await world(await url(), dataFolder());
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
    expect(await ids()).toEqual(['old', 'open', 'young']);
    const sweeper = retention({ maxAgeMs: DAY });
    await sweeper.sweep();
    await sweeper.close();
    expect(await ids()).toEqual(['open', 'young']);
    await expect(engine.getRun('old')).rejects.toThrow(/old/);
    await expect(engine.getLogs('old')).rejects.toThrow(/old/);
    expect((await engine.getRun('young')).status).toBe('completed');
  });

  it('deletes the oldest ended runs until all take at most the limit, and none that ended within the hour', async () => {
    const { engine, clock, workflowId, retention, ids } = await world(await url());
    for (const id of ['a', 'b', 'c', 'd']) {
      await engine.execute(workflowId, { id }, { runId: id });
      clock.advance(HOUR + 1);
    }
    await engine.execute(workflowId, {}, { runId: 'fresh' });
    await ids();
    const sizes = await engine.runSizes(['a', 'b', 'c', 'd', 'fresh']);
    const all = [...sizes.values()].reduce((sum, bytes) => sum + bytes, 0);
    const [each = 0] = sizes.values();
    const sweeper = retention({ maxBytes: all - each });
    await sweeper.sweep();
    expect(await ids()).toEqual(['b', 'c', 'd', 'fresh']);
    await sweeper.close();
    const strict = retention({ maxBytes: 1 });
    await strict.sweep();
    await strict.close();
    expect(await ids()).toEqual(['fresh']);
  });

  it('is done by one process at a time, and by another when the first dies', async () => {
    const { db, engine, clock, workflowId, retention, ids } = await world(await url());
    await engine.execute(workflowId, {}, { runId: 'old' });
    await ids();
    clock.advance(2 * DAY);
    const lease = { name: 'log retention', owner: 'dead', leaseMs: 60_000 };
    expect(await takeLease(db, { ...lease, nowMs: clock.now() })).toBe(true);
    const sweeper = retention({ maxAgeMs: DAY });
    await sweeper.sweep();
    expect(await ids()).toEqual(['old']);
    clock.advance(60_001);
    await sweeper.sweep();
    await sweeper.close();
    expect(await ids()).toEqual([]);
  });
});

describe('retention', () => {
  it('deletes a child run with its parent, and not before', async () => {
    const made = await world();
    const { engine, clock, workflowId, retention, ids } = made;
    const parent = await deploy(
      made,
      workflow([block('Call', 'workflow', { workflowId, input: '{}' })], ['Start -> Call'], { id: 'parent' }),
    );
    await engine.execute(parent, {}, { runId: 'parent-run' });
    expect(await ids()).toHaveLength(2);
    clock.advance(2 * DAY);
    const sweeper = retention({ maxAgeMs: DAY });
    await sweeper.sweep();
    await sweeper.close();
    expect(await ids()).toEqual([]);
  });

  it('refuses limits under which running blocks would lose values', async () => {
    const { retention } = await world();
    expect(() => retention({ maxAgeMs: HOUR - 1 })).toThrow(/maxAgeMs/);
    expect(() => retention({ maxBytes: 0 })).toThrow(/maxBytes/);
  });
});
