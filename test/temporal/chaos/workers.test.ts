import { setTimeout as delay } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { expect, it, onTestFinished } from 'vitest';
import { createDataFolder } from '../../support/data-folder.ts';
import { describeTemporal } from '../../support/temporal.ts';
import { block, fn, parallel, workflow } from '../../support/workflow.ts';
import { audit } from './audit.ts';
import { findBusyProcesses, descendantsOf, findLiveProcesses } from './processes.ts';
import { openEnvironment } from './environment.ts';
import type { Environment, EnvironmentOptions } from './environment.ts';

const POLL_OPTIONS = { timeout: 60_000, interval: 50 };
const TIMEOUT_MS = 240_000;
/** Sampling period in milliseconds: a process that uses CPU time in it is computing. */
const SAMPLING_MS = 2000;
/** Duration of a block that is cancelled before its end. */
const LONG_MS = 300_000;
/** Maximum duration of a cancellation: much less than LONG_MS, but enough for a busy machine. */
const MAX_CANCEL_MS = 30_000;

describeTemporal('several workers', ({ address, namespace }) => {
  const startEnvironment = (
    workerCount: number,
    options: Partial<EnvironmentOptions> = {},
  ): Promise<Environment> =>
    openEnvironment({ address, namespace, store: { data: createDataFolder() }, workerCount, ...options });

  /** Returns the types of the activities of the run, without local activities. */
  async function activityTypesOf(runId: string): Promise<string[]> {
    const connection = await Connection.connect({ address });
    onTestFinished(() => connection.close());
    const { events } = await new Client({ connection, namespace }).workflow.getHandle(runId).fetchHistory();
    return (events ?? []).flatMap(
      ({ activityTaskScheduledEventAttributes: attributes }) => attributes?.activityType?.name ?? [],
    );
  }

  it(
    'after a worker is killed in an activity that executes many blocks, blocks that a heartbeat has reported are not repeated',
    { timeout: TIMEOUT_MS },
    async () => {
      const { engine, stores, effectServer, fleet } = await startEnvironment(2, { localSegments: false });
      const blockNames = ['C1', 'C2', 'C3'];
      const definition = workflow(
        [
          ...blockNames.map((name) => block(name, 'compute', { ms: 150 })),
          block('L', 'compute', { ms: LONG_MS, from: '<c3.blockName>' }),
        ],
        [`Start -> ${blockNames.join(' -> ')} -> L`],
      );
      const { runId } = await engine.start({ workflow: definition });
      await expect.poll(() => effectServer.callsOf(`${runId}/L`).length, POLL_OPTIONS).toBe(1);
      // Waits for several heartbeats, so that one reports the ended blocks.
      await delay(2500);
      // One activity runs all blocks, so only its heartbeat reports the ended blocks.
      expect(await activityTypesOf(runId)).toEqual(['heddle.segment']);
      expect((await stores.runs.journal(runId)).map(({ type }) => type)).toEqual(['started']);
      const [{ pid } = { pid: 0 }] = effectServer.callsOf(`${runId}/L`);
      effectServer.respondImmediately();
      await fleet.kill(pid);
      await expect.poll(async () => (await engine.getRun(runId)).status, POLL_OPTIONS).toBe('completed');
      const counts = [...blockNames, 'L'].map((name) => [
        name,
        effectServer.callsOf(`${runId}/${name}`).length,
      ]);
      expect(counts).toEqual([...blockNames.map((name) => [name, 1]), ['L', 2]]);
      expect(effectServer.callsOf(`${runId}/L`)[1]?.pid).not.toBe(pid);
      expect((await audit(stores)).problems).toEqual([]);
    },
  );

  it(
    'a cancellation by a client aborts a waiting block long before its end',
    { timeout: TIMEOUT_MS },
    async () => {
      const { engine, stores, effectServer } = await startEnvironment(2);
      const definition = workflow([block('E', 'effect', { ms: LONG_MS })], ['Start -> E']);
      const { runId } = await engine.start({ workflow: definition });
      await expect.poll(() => effectServer.calls.length, POLL_OPTIONS).toBe(1);
      const startMs = performance.now();
      expect(await engine.cancel(runId)).toBe(true);
      await expect.poll(() => effectServer.calls[0]?.endedMs, POLL_OPTIONS).toBeDefined();
      const durationMs = performance.now() - startMs;
      logDuration('a cancellation reached a waiting block', durationMs);
      expect(durationMs).toBeLessThan(MAX_CANCEL_MS);
      expect(effectServer.calls[0]).toMatchObject({ answered: false });
      expect(await engine.getRun(runId)).toMatchObject({ status: 'cancelled' });
      expect((await audit(stores)).problems).toEqual([]);
    },
  );

  it('a cancellation by a client stops endless code and its process', { timeout: TIMEOUT_MS }, async () => {
    const { engine, stores, fleet } = await startEnvironment(2);
    const definition = workflow([fn('F', 'while (true) {}', {})], ['Start -> F']);
    const { runId } = await engine.start({ workflow: definition });
    await expect.poll(() => activityTypesOf(runId), POLL_OPTIONS).toEqual(['heddle.segment']);
    const findBusyPids = (): Promise<number[]> =>
      findBusyProcesses(
        fleet.pids.flatMap((pid) => descendantsOf(pid)),
        SAMPLING_MS,
      );
    await expect.poll(findBusyPids, POLL_OPTIONS).toHaveLength(1);
    const startMs = performance.now();
    expect(await engine.cancel(runId)).toBe(true);
    const durationMs = performance.now() - startMs;
    logDuration('a cancellation ended a run of endless code', durationMs);
    expect(durationMs).toBeLessThan(MAX_CANCEL_MS);
    expect(await engine.getRun(runId)).toMatchObject({ status: 'cancelled' });
    await expect.poll(findBusyPids, POLL_OPTIONS).toEqual([]);
    expect((await audit(stores)).problems).toEqual([]);
  });

  it('a killed worker leaves no process with running code', { timeout: TIMEOUT_MS }, async () => {
    const { engine, fleet } = await startEnvironment(1);
    const definition = workflow([fn('F', 'while (true) {}')], ['Start -> F']);
    await engine.start({ workflow: definition });
    const [pid = 0] = fleet.pids;
    await expect.poll(() => findBusyProcesses(descendantsOf(pid), SAMPLING_MS), POLL_OPTIONS).toHaveLength(1);
    const sandboxPids = descendantsOf(pid);
    await fleet.kill(pid);
    await expect.poll(() => findLiveProcesses(sandboxPids), POLL_OPTIONS).toEqual([]);
  });

  it('branches of a wide parallel are distributed among the workers', { timeout: TIMEOUT_MS }, async () => {
    const { engine, stores, effectServer, fleet } = await startEnvironment(3, {
      workerTuning: { maxConcurrentActivities: 5 },
    });
    const definition = workflow(
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
    const { status, output } = await engine.execute({ workflow: definition });
    expect({ status, output }).toMatchObject({
      status: 'completed',
      output: { result: Array.from({ length: 60 }, (_, index) => index) },
    });
    const callsByPid = Map.groupBy(effectServer.calls, ({ pid }) => pid);
    expect(effectServer.calls).toHaveLength(60);
    expect([...callsByPid.keys()].every((pid) => fleet.pids.includes(pid))).toBe(true);
    expect(callsByPid.size).toBeGreaterThanOrEqual(2);
    expect((await audit(stores)).problems).toEqual([]);
  });
});

/** Prints the duration of a cancellation. docs/reliability.md has the durations in one run. */
function logDuration(description: string, durationMs: number): void {
  process.stderr.write(`${description} after ${Math.round(durationMs)} ms\n`);
}
