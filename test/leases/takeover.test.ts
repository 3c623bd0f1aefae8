import { randomUUID } from 'node:crypto';
import type { Json } from '@heddle/core';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { SharedStores } from '@heddle/engine/stores';
import { hasPostgres, postgresDatabase } from '../support/postgres.ts';
import { block, fn, loop, workflow } from '../support/workflow.ts';
import { audit } from '../temporal/chaos/audit.ts';
import { answerTo, CHILD, TEST_WORKFLOWS } from '../temporal/chaos/test-workflows.ts';
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
const TIMEOUT = { timeout: 60_000, interval: 50 };

/** Resumes every pause point of the runs until all runs have ended. Returns the output of each run by its id. */
async function resumeToEnd(runIds: readonly string[], node: EngineProcess): Promise<Map<string, Json>> {
  const outputs = new Map<string, Json>();
  const advance = async (runId: string): Promise<void> => {
    const run = await node.call('getRun', { runId });
    if (run.status === 'completed') outputs.set(runId, run.output);
    if (run.status === 'failed') throw new Error(JSON.stringify(run.error));
    for (const { token, scope, kind } of run.pauses)
      if (kind === 'human') await node.call('resume', { runId, token, input: answerTo(scope) });
  };
  await expect
    .poll(async () => {
      for (const runId of runIds) if (!outputs.has(runId)) await advance(runId);
      return outputs.size;
    }, TIMEOUT)
    .toBe(runIds.length);
  return outputs;
}

/** Returns the ids of paused child runs. */
async function pausedChildren({ stores }: Environment): Promise<string[]> {
  const { runs } = await stores.runs.list({ status: ['paused'] });
  return runs.filter((run) => run.parentRunId !== undefined).map(({ runId }) => runId);
}

/** Expects a call of every effect, and repeated calls only of effects that were in flight when their process died. */
function expectEffects({ effects }: Environment, deadPids: readonly number[], keys: Iterable<string>): void {
  expect(new Set(effects.calls.map(({ key }) => key))).toEqual(new Set(keys));
  const attempts = Map.groupBy(effects.calls, ({ key, try: attempt }) => `${key}#${attempt}`);
  for (const [name, calls] of attempts) {
    const interrupted = calls.slice(0, -1);
    for (const { pid } of interrupted) expect(deadPids, `${name} ran again`).toContain(pid);
  }
}

describe.skipIf(!hasPostgres)('processes on one database', { timeout: 120_000 }, () => {
  beforeAll(async () => {
    url = await postgresDatabase();
  });

  it('continue the runs of a process killed with SIGKILL, without lost or repeated recorded work', async () => {
    const environment = await openEnvironment(url);
    const [first, second] = await Promise.all([environment.startProcess(), environment.startProcess()]);
    await first.call('deploy', { definition: CHILD });
    for (const { workflow: definition } of TEST_WORKFLOWS) await first.call('deploy', { definition });
    const workflowIds = TEST_WORKFLOWS.map(
      ({ workflow: exported }) => (exported as { workflow: { id: string } }).workflow.id,
    );
    for (const id of workflowIds) await first.call('start', { runId: `run-${id}`, workflow: id });
    await expect.poll(() => environment.effects.calls.length, TIMEOUT).toBeGreaterThan(5);
    await first.kill();

    const runIds = workflowIds.map((id) => `run-${id}`);
    await expect.poll(() => pausedChildren(environment), TIMEOUT).toHaveLength(1);
    const outputs = await resumeToEnd([...runIds, ...(await pausedChildren(environment))], second);
    for (const [index, { output }] of TEST_WORKFLOWS.entries())
      expect(outputs.get(runIds[index] ?? '')).toEqual(output);

    const findings = await audit(environment.stores);
    expect(findings.problems).toEqual([]);
    for (const count of [...findings.endCounts.values(), ...findings.answerCounts.values()])
      expect(count).toBe(1);
    expectEffects(
      environment,
      [first.pid],
      [...findings.effectAttempts].map((name) => name.replace(/#\d+$/, '')),
    );
    expect(second.errors).toEqual([]);
  });

  it('take over the runs of a frozen process, which does not write to them when it continues and joins again', async () => {
    const environment = await openEnvironment(url);
    const [frozen, other] = await Promise.all([environment.startProcess(), environment.startProcess()]);
    const hangingWorkflow = workflow(
      [
        loop('L', { loopType: 'for', count: 3 }, block('E', 'effect', { ms: 20, at: '<loop.index>' })),
        block('Hang', 'effect', { ms: 60_000 }),
        fn('Z', 'return <l.results>.length'),
      ],
      ['Start -> L -> E', 'L -> Hang -> Z'],
      { id: 'frozen' },
    );
    await frozen.call('deploy', { definition: hangingWorkflow });
    await frozen.call('start', { runId: 'r', workflow: 'frozen' });
    const result = frozen.call('result', { runId: 'r' });
    const hangingCalls = () => environment.effects.calls.filter(({ key }) => key.includes('/Hang'));
    await expect.poll(() => hangingCalls().length, TIMEOUT).toBe(1);
    frozen.signal('SIGSTOP');
    await expect.poll(() => hangingCalls().length, TIMEOUT).toBe(2);
    expect(hangingCalls().map(({ pid }) => pid)).toEqual([frozen.pid, other.pid]);

    // The effect of the frozen process responds while the process is stopped.
    const journalBefore = await environment.stores.runs.journal('r');
    environment.effects.respondImmediately();
    const ended = await other.call('result', { runId: 'r' });
    expect(ended).toMatchObject({ status: 'completed', output: { result: 3 } });
    const journal = await environment.stores.runs.journal('r');
    expect(journal.length).toBeGreaterThan(journalBefore.length);
    frozen.signal('SIGCONT');
    // The caller of the frozen process receives the result of the run from the other process.
    expect(await result).toMatchObject({ status: 'completed', output: { result: 3 } });
    expect(frozen.errors.map(({ message }) => message)).toEqual([
      expect.stringContaining('This process has lost its runs'),
    ]);
    await frozen.call('start', { runId: 'later', workflow: 'frozen' });
    expect(await frozen.call('result', { runId: 'later' })).toMatchObject({ status: 'completed' });
    expect(await environment.stores.runs.journal('r')).toEqual(journal);
    expect((await audit(environment.stores)).problems).toEqual([]);
    expectEffects(
      environment,
      [frozen.pid],
      environment.effects.calls.map(({ key }) => key),
    );
  });

  it('take over the runs of a closed process immediately, including runs that wait for a time', async () => {
    // Too long to expire within the test.
    const environment = await openEnvironment(url, 600_000);
    const [first, second] = await Promise.all([environment.startProcess(), environment.startProcess()]);
    const waitingWorkflow = workflow(
      [block('T', 'wait', { timeValue: '1', timeUnit: 'seconds' }), block('E', 'effect', { ms: 1 })],
      ['Start -> T -> E'],
      { id: 'waits' },
    );
    await first.call('deploy', { definition: waitingWorkflow });
    for (const runId of ['a', 'b', 'c']) await first.call('start', { runId, workflow: 'waits' });
    await first.call('close');
    for (const runId of ['a', 'b', 'c'])
      await expect
        .poll(() => second.call('getRun', { runId }), TIMEOUT)
        .toMatchObject({ status: 'completed' });
    expect(environment.effects.calls.map(({ pid }) => pid)).toEqual([second.pid, second.pid, second.pid]);
  });
});
