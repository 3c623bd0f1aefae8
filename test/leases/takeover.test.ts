import { randomUUID } from 'node:crypto';
import type { Json } from '@heddle/core';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { SharedStores } from '@heddle/engine/stores';
import { hasPostgres, createPostgresDatabase } from '../support/postgres.ts';
import { block, fn, loop, workflow } from '../support/workflow.ts';
import { audit } from '../temporal/chaos/audit.ts';
import { answerTo, CHILD_WORKFLOW, TEST_WORKFLOWS } from '../temporal/chaos/test-workflows.ts';
import { openPostgresStores } from '../stores/postgres-stores.ts';
import { startEffectServer } from '../temporal/chaos/effect-server.ts';
import type { EffectServer } from '../temporal/chaos/effect-server.ts';
import type { EngineProcess } from './processes.ts';
import { startEngineProcess } from './processes.ts';

/** A database schema, a server that records every call of an effect, and processes that use both. */
interface Environment {
  schema: string;
  stores: SharedStores;
  effects: EffectServer;
  /** Starts another process. */
  startProcess(): Promise<EngineProcess>;
}

/** Short enough to expire during a test, and long enough for a process on a busy machine to renew it. */
const LEASE_MS = 5000;

/** Returns an environment whose processes end with the test. */
async function openEnvironment(url: string, leaseMs = LEASE_MS): Promise<Environment> {
  const schema = randomUUID();
  const effects = await startEffectServer();
  onTestFinished(() => effects.close());
  const stores = await openPostgresStores({ url, schema, maxConnections: 2 });
  return {
    schema,
    stores,
    effects,
    startProcess: () =>
      startEngineProcess({ url, schema, leaseMs, maxConnections: 4, effectsUrl: effects.url }),
  };
}

let url = '';
const POLL_OPTIONS = { timeout: 60_000, interval: 50 };

/** Resumes every pause point of the runs until all runs have ended. Returns the output of each run by its id. */
async function resumeToEnd(
  runIds: readonly string[],
  engineProcess: EngineProcess,
): Promise<Map<string, Json>> {
  const outputs = new Map<string, Json>();
  const advance = async (runId: string): Promise<void> => {
    const run = await engineProcess.call('getRun', { runId });
    if (run.status === 'completed') outputs.set(runId, run.output);
    if (run.status === 'failed') throw new Error(JSON.stringify(run.error));
    for (const { token, scope, kind } of run.pauses)
      if (kind === 'human') await engineProcess.call('resume', { runId, token, input: answerTo(scope) });
  };
  await expect
    .poll(async () => {
      for (const runId of runIds) if (!outputs.has(runId)) await advance(runId);
      return outputs.size;
    }, POLL_OPTIONS)
    .toBe(runIds.length);
  return outputs;
}

/** Returns the ids of paused child runs. */
async function findPausedChildIds({ stores }: Environment): Promise<string[]> {
  const { runs } = await stores.runs.list({ status: ['paused'] });
  return runs.filter((run) => run.parentRunId !== undefined).map(({ runId }) => runId);
}

/** Expects a call of every effect, and repeated calls only of effects that were in flight when their process died. */
function expectEffects({ effects }: Environment, deadPids: readonly number[], keys: Iterable<string>): void {
  expect(new Set(effects.calls.map(({ key }) => key))).toEqual(new Set(keys));
  const attempts = Map.groupBy(effects.calls, ({ key, try: attempt }) => `${key}#${attempt}`);
  for (const [name, calls] of attempts) {
    const interruptedCalls = calls.slice(0, -1);
    for (const { pid } of interruptedCalls) expect(deadPids, `${name} ran again`).toContain(pid);
  }
}

describe.skipIf(!hasPostgres)('processes on one database', { timeout: 120_000 }, () => {
  beforeAll(async () => {
    url = await createPostgresDatabase();
  });

  it('continue the runs of a process killed with SIGKILL, without lost or repeated recorded work', async () => {
    const environment = await openEnvironment(url);
    const [firstProcess, secondProcess] = await Promise.all([
      environment.startProcess(),
      environment.startProcess(),
    ]);
    await firstProcess.call('deploy', { definition: CHILD_WORKFLOW });
    for (const { workflow: definition } of TEST_WORKFLOWS) await firstProcess.call('deploy', { definition });
    const workflowIds = TEST_WORKFLOWS.map(
      ({ workflow: definition }) => (definition as { workflow: { id: string } }).workflow.id,
    );
    for (const id of workflowIds) await firstProcess.call('start', { runId: `run-${id}`, workflow: id });
    await expect.poll(() => environment.effects.calls.length, POLL_OPTIONS).toBeGreaterThan(5);
    await firstProcess.kill();

    const runIds = workflowIds.map((id) => `run-${id}`);
    await expect.poll(() => findPausedChildIds(environment), POLL_OPTIONS).toHaveLength(1);
    const outputs = await resumeToEnd([...runIds, ...(await findPausedChildIds(environment))], secondProcess);
    for (const [index, { output }] of TEST_WORKFLOWS.entries())
      expect(outputs.get(runIds[index] ?? '')).toEqual(output);

    const findings = await audit(environment.stores);
    expect(findings.problems).toEqual([]);
    for (const count of [...findings.endCounts.values(), ...findings.answerCounts.values()])
      expect(count).toBe(1);
    expectEffects(
      environment,
      [firstProcess.pid],
      [...findings.effectAttempts].map((name) => name.replace(/#\d+$/, '')),
    );
    expect(secondProcess.errors).toEqual([]);
  });

  it('take over the runs of a frozen process, which does not write to them when it continues and joins again', async () => {
    const environment = await openEnvironment(url);
    const [frozenProcess, otherProcess] = await Promise.all([
      environment.startProcess(),
      environment.startProcess(),
    ]);
    const hangingWorkflow = workflow(
      [
        loop('L', { loopType: 'for', count: 3 }, block('E', 'effect', { ms: 20, at: '<loop.index>' })),
        block('Hang', 'effect', { ms: 60_000 }),
        fn('Z', 'return <l.results>.length'),
      ],
      ['Start -> L -> E', 'L -> Hang -> Z'],
      { id: 'frozen' },
    );
    await frozenProcess.call('deploy', { definition: hangingWorkflow });
    await frozenProcess.call('start', { runId: 'r', workflow: 'frozen' });
    const result = frozenProcess.call('result', { runId: 'r' });
    const findHangingCalls = () => environment.effects.calls.filter(({ key }) => key.includes('/Hang'));
    await expect.poll(() => findHangingCalls().length, POLL_OPTIONS).toBe(1);
    frozenProcess.signal('SIGSTOP');
    await expect.poll(() => findHangingCalls().length, POLL_OPTIONS).toBe(2);
    expect(findHangingCalls().map(({ pid }) => pid)).toEqual([frozenProcess.pid, otherProcess.pid]);

    // The effect of the frozen process responds while the process is stopped.
    const journalBefore = await environment.stores.runs.journal('r');
    environment.effects.respondImmediately();
    const endedRun = await otherProcess.call('result', { runId: 'r' });
    expect(endedRun).toMatchObject({ status: 'completed', output: { result: 3 } });
    const journal = await environment.stores.runs.journal('r');
    expect(journal.length).toBeGreaterThan(journalBefore.length);
    frozenProcess.signal('SIGCONT');
    // The caller of the frozen process receives the result of the run from the other process.
    expect(await result).toMatchObject({ status: 'completed', output: { result: 3 } });
    expect(frozenProcess.errors.map(({ message }) => message)).toEqual([
      expect.stringContaining('This process has lost its runs'),
    ]);
    await frozenProcess.call('start', { runId: 'later', workflow: 'frozen' });
    expect(await frozenProcess.call('result', { runId: 'later' })).toMatchObject({ status: 'completed' });
    expect(await environment.stores.runs.journal('r')).toEqual(journal);
    expect((await audit(environment.stores)).problems).toEqual([]);
    expectEffects(
      environment,
      [frozenProcess.pid],
      environment.effects.calls.map(({ key }) => key),
    );
  });

  it('take over the runs of a closed process immediately, including runs that wait for a time', async () => {
    // Too long to expire within the test.
    const environment = await openEnvironment(url, 600_000);
    const [firstProcess, secondProcess] = await Promise.all([
      environment.startProcess(),
      environment.startProcess(),
    ]);
    const waitingWorkflow = workflow(
      [block('T', 'wait', { timeValue: '1', timeUnit: 'seconds' }), block('E', 'effect', { ms: 1 })],
      ['Start -> T -> E'],
      { id: 'waits' },
    );
    await firstProcess.call('deploy', { definition: waitingWorkflow });
    for (const runId of ['a', 'b', 'c']) await firstProcess.call('start', { runId, workflow: 'waits' });
    await firstProcess.call('close');
    for (const runId of ['a', 'b', 'c'])
      await expect
        .poll(() => secondProcess.call('getRun', { runId }), POLL_OPTIONS)
        .toMatchObject({ status: 'completed' });
    expect(environment.effects.calls.map(({ pid }) => pid)).toEqual([
      secondProcess.pid,
      secondProcess.pid,
      secondProcess.pid,
    ]);
  });
});
