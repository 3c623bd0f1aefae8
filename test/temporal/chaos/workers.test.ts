import { setTimeout as delay } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { expect, it, onTestFinished } from 'vitest';
import { dataFolder } from '../../support/data-folder.ts';
import { describeTemporal } from '../../support/temporal.ts';
import { block, fn, parallel, workflow } from '../../support/workflow.ts';
import { audit } from './audit.ts';
import { busyProcesses, descendantsOf, liveProcesses } from './processes.ts';
import { openEnvironment } from './environment.ts';
import type { Environment, EnvironmentOptions } from './environment.ts';

const POLL = { timeout: 60_000, interval: 50 };
const TIMEOUT_MS = 240_000;
/** Sampling period in milliseconds: a process that uses CPU time in it is computing. */
const BUSY_MS = 2000;
/** Duration of a block that is cancelled before its end. */
const LONG_MS = 300_000;
/** Maximum duration of a cancellation: much less than LONG_MS, but enough for a busy machine. */
const MAX_CANCEL_MS = 30_000;

describeTemporal('several workers', ({ address, namespace }) => {
  const startEnvironment = (
    workers: number,
    options: Partial<EnvironmentOptions> = {},
  ): Promise<Environment> =>
    openEnvironment({ address, namespace, store: { data: dataFolder() }, workers, ...options });

  /** Returns the types of the activities of the run, without local activities. */
  async function activityTypesOf(runId: string): Promise<string[]> {
    const connection = await Connection.connect({ address });
    onTestFinished(() => connection.close());
    const { events } = await new Client({ connection, namespace }).workflow.getHandle(runId).fetchHistory();
    return (events ?? []).flatMap(
      ({ activityTaskScheduledEventAttributes: scheduled }) => scheduled?.activityType?.name ?? [],
    );
  }

  it(
    'after a worker is killed in an activity that executes many blocks, blocks that a heartbeat has reported are not repeated',
    { timeout: TIMEOUT_MS },
    async () => {
      const { engine, stores, effects, fleet } = await startEnvironment(2, { localSegments: false });
      const names = ['C1', 'C2', 'C3'];
      const graph = workflow(
        [
          ...names.map((name) => block(name, 'compute', { ms: 150 })),
          block('L', 'compute', { ms: LONG_MS, from: '<c3.by>' }),
        ],
        [`Start -> ${names.join(' -> ')} -> L`],
      );
      const { runId } = await engine.start({ workflow: graph });
      await expect.poll(() => effects.callsOf(`${runId}/L`).length, POLL).toBe(1);
      // Waits for several heartbeats, so that one reports the ended blocks.
      await delay(2500);
      // One activity runs all blocks, so only its heartbeat reports the ended blocks.
      expect(await activityTypesOf(runId)).toEqual(['heddle.segment']);
      expect((await stores.runs.journal(runId)).map(({ type }) => type)).toEqual(['started']);
      const [{ pid } = { pid: 0 }] = effects.callsOf(`${runId}/L`);
      effects.respondImmediately();
      await fleet.kill(pid);
      await expect.poll(async () => (await engine.getRun(runId)).status, POLL).toBe('completed');
      const counts = [...names, 'L'].map((name) => [name, effects.callsOf(`${runId}/${name}`).length]);
      expect(counts).toEqual([...names.map((name) => [name, 1]), ['L', 2]]);
      expect(effects.callsOf(`${runId}/L`)[1]?.pid).not.toBe(pid);
      expect((await audit(stores)).problems).toEqual([]);
    },
  );

  it(
    'a cancellation by a client aborts a waiting block long before its end',
    { timeout: TIMEOUT_MS },
    async () => {
      const { engine, stores, effects } = await startEnvironment(2);
      const graph = workflow([block('E', 'effect', { ms: LONG_MS })], ['Start -> E']);
      const { runId } = await engine.start({ workflow: graph });
      await expect.poll(() => effects.calls.length, POLL).toBe(1);
      const fromMs = performance.now();
      expect(await engine.cancel(runId)).toBe(true);
      await expect.poll(() => effects.calls[0]?.endedMs, POLL).toBeDefined();
      const tookMs = performance.now() - fromMs;
      logDuration('a cancellation reached a waiting block', tookMs);
      expect(tookMs).toBeLessThan(MAX_CANCEL_MS);
      expect(effects.calls[0]).toMatchObject({ answered: false });
      expect(await engine.getRun(runId)).toMatchObject({ status: 'cancelled' });
      expect((await audit(stores)).problems).toEqual([]);
    },
  );

  it('a cancellation by a client stops endless code and its process', { timeout: TIMEOUT_MS }, async () => {
    const { engine, stores, fleet } = await startEnvironment(2);
    const graph = workflow([fn('F', 'while (true) {}', {})], ['Start -> F']);
    const { runId } = await engine.start({ workflow: graph });
    await expect.poll(() => activityTypesOf(runId), POLL).toEqual(['heddle.segment']);
    const findBusyPids = (): Promise<number[]> =>
      busyProcesses(
        fleet.pids.flatMap((pid) => descendantsOf(pid)),
        BUSY_MS,
      );
    await expect.poll(findBusyPids, POLL).toHaveLength(1);
    const fromMs = performance.now();
    expect(await engine.cancel(runId)).toBe(true);
    const tookMs = performance.now() - fromMs;
    logDuration('a cancellation ended a run of endless code', tookMs);
    expect(tookMs).toBeLessThan(MAX_CANCEL_MS);
    expect(await engine.getRun(runId)).toMatchObject({ status: 'cancelled' });
    await expect.poll(findBusyPids, POLL).toEqual([]);
    expect((await audit(stores)).problems).toEqual([]);
  });

  it('a killed worker leaves no process with running code', { timeout: TIMEOUT_MS }, async () => {
    const { engine, fleet } = await startEnvironment(1);
    const graph = workflow([fn('F', 'while (true) {}')], ['Start -> F']);
    await engine.start({ workflow: graph });
    const [pid = 0] = fleet.pids;
    await expect.poll(() => busyProcesses(descendantsOf(pid), BUSY_MS), POLL).toHaveLength(1);
    const sandboxPids = descendantsOf(pid);
    await fleet.kill(pid);
    await expect.poll(() => liveProcesses(sandboxPids), POLL).toEqual([]);
  });

  it('branches of a wide parallel are distributed among the workers', { timeout: TIMEOUT_MS }, async () => {
    const { engine, stores, effects, fleet } = await startEnvironment(3, {
      worker: { maxConcurrentActivities: 5 },
    });
    const graph = workflow(
      [
        parallel(
          'P',
          { parallelType: 'count', count: 60 },
          block('E', 'effect', { ms: 200, at: '<parallel.index>' }),
        ),
        fn('Z', 'return <p.results>.map(([{ at }]) => at)'),
      ],
      ['Start -> P -> E', 'P -> Z'],
    );
    const { status, output } = await engine.execute({ workflow: graph });
    expect({ status, output }).toMatchObject({
      status: 'completed',
      output: { result: Array.from({ length: 60 }, (_, index) => index) },
    });
    const callsByPid = Map.groupBy(effects.calls, ({ pid }) => pid);
    expect(effects.calls).toHaveLength(60);
    expect([...callsByPid.keys()].every((pid) => fleet.pids.includes(pid))).toBe(true);
    expect(callsByPid.size).toBeGreaterThanOrEqual(2);
    expect((await audit(stores)).problems).toEqual([]);
  });
});

/** Prints the duration of a cancellation. docs/reliability.md has the durations in one run. */
function logDuration(what: string, tookMs: number): void {
  process.stderr.write(`${what} after ${Math.round(tookMs)} ms\n`);
}
