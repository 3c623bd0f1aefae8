import { setTimeout as delay } from 'node:timers/promises';
import type { BlockExecutor, BlockResult, Json } from '@heddle/core/blocks';
import { readPlan } from '@heddle/core';
import { RunState } from '@heddle/core/run';
import { isEngineError } from '@heddle/engine';
import type { Engine, EngineOptions, ExecutorServices, RunResource } from '@heddle/engine';
import { createEngineOn } from '../../packages/engine/src/create.ts';
import { CodeService } from '../../packages/engine/src/execution/code-service.ts';
import { builtInExecutors } from '../../packages/engine/src/executors/built-ins.ts';
import { createRegistry } from '../../packages/engine/src/executors/registry.ts';
import { openStores } from '../../packages/engine/src/store/open.ts';
import type { Stores } from '../../packages/engine/src/store/stores.ts';
import { TestClock } from '../support/test-clock.ts';
import { CrashError, createCrashingStores } from './crashing-stores.ts';

const RUN_ID = 'stopped-run';
/** One sandbox for all engines: starting its processes would take longer than the runs. */
const codeService = new CodeService({ maxProcesses: 1 });

/** Ends the sandbox processes that all runs share. */
export const closeSandbox = (): Promise<void> => codeService.close();

/** A workflow whose run is stopped, and the options of its run. */
export interface WorkflowUnderTest {
  workflow: Json;
  input?: Json;
  env?: EngineOptions['env'];
  /** Workflows that blocks of `workflow` call. */
  children?: readonly Json[];
  mocks?: Json;
}

/** The visible result of a run that has ended. */
export interface VisibleResult {
  status: string;
  output: Json;
  error: string | undefined;
  /**
   * Name with scope, status, number of attempts and `errorHandled` of each execution of a block. Sorted, because
   * concurrent blocks have no fixed order.
   */
  blocks: string[];
  childCount: number;
}

/** The result of a run that was stopped after a number of journal writes and then continued. */
export interface StoppedRun {
  result: VisibleResult;
  /** Blocks that ran again although they were recorded as finished before the stop. */
  repeated: string[];
  /** Blocks that ran before the stop although no journal entry requested them. */
  unrequested: string[];
  /** Number of journal writes before the stop. It is below the requested number if the run ended earlier. */
  writeCount: number;
}

/**
 * Runs `workflowUnderTest` in the data folder, stops it after `maxWrites` journal writes, and continues it in another
 * engine.
 */
export async function runWithStop(
  workflowUnderTest: WorkflowUnderTest,
  dataFolder: string,
  maxWrites: number,
): Promise<StoppedRun> {
  const clock = new TestClock(1000);
  const stores = createCrashingStores(openStores({ data: dataFolder, clock }), maxWrites);
  const executionsBeforeStop: string[] = [];
  const firstEngine = await openEngine(workflowUnderTest, stores, clock, (execution) =>
    executionsBeforeStop.push(execution),
  );
  const uninterruptedResult = await finishRun(firstEngine, workflowUnderTest, clock).catch(
    (error: unknown) => {
      if (error instanceof CrashError) return undefined;
      throw error;
    },
  );
  await firstEngine.close({ graceMs: 0 });
  const writeCount = stores.writeCount();
  // A crashed engine leaves its isolate behind. The next engine must not reuse it.
  codeService.release(RUN_ID);
  if (uninterruptedResult) return { result: uninterruptedResult, repeated: [], unrequested: [], writeCount };
  const reopenedStores = openStores({ data: dataFolder, clock });
  const runIds = new Set(executionsBeforeStop.map((execution) => execution.split(' ')[0] ?? ''));
  const { finished, requested } = await readExecutions(reopenedStores, runIds);
  const executionsAfterStop: string[] = [];
  const secondEngine = await openEngine(workflowUnderTest, reopenedStores, clock, (execution) =>
    executionsAfterStop.push(execution),
  );
  const result = await finishRun(secondEngine, workflowUnderTest, clock);
  await secondEngine.close({ graceMs: 0 });
  for (const runId of runIds) codeService.release(runId);
  return {
    result,
    repeated: executionsAfterStop.filter((execution) => finished.has(execution)),
    unrequested: executionsBeforeStop.filter((execution) => !requested.has(execution)),
    writeCount,
  };
}

async function openEngine(
  workflowUnderTest: WorkflowUnderTest,
  stores: Parameters<typeof createEngineOn>[0],
  clock: TestClock,
  onStart: (execution: string) => void,
): Promise<Engine> {
  const registry = createRegistry(builtInExecutors, [stepExecutor(onStart), callsExecutor as BlockExecutor]);
  const options = {
    clock,
    onError: () => undefined,
    ...(workflowUnderTest.env && { env: workflowUnderTest.env }),
  };
  return createEngineOn(stores, registry, options, codeService);
}

/** Returns the executor of the type `step`: an effect that outputs its fields after one iteration of the event loop. */
function stepExecutor(onStart: (execution: string) => void): BlockExecutor {
  return {
    types: ['step'],
    class: 'effect',
    async execute(context): Promise<BlockResult> {
      onStart(executionKey(context.runId, { block: context.block.id, scope: context.scope }));
      const fields = context.fields();
      await new Promise(setImmediate);
      if (fields['fail'] === true || fields['fail'] === context.attempt)
        throw new Error('The step fails on purpose.');
      return { output: fields };
    },
  };
}

/** An effect that calls the workflow `child` twice concurrently and once afterwards, each time in a step. */
const callsExecutor: BlockExecutor<ExecutorServices> = {
  types: ['calls'],
  class: 'effect',
  async execute({ step, services }): Promise<BlockResult> {
    const call = (name: string, otherWorkDone: Promise<unknown>): Promise<Json> =>
      step(name, () => services.callWorkflow('child', { input: { name }, call: name, otherWorkDone }), {
        idempotent: true,
      });
    const otherStep = step('other', async () => 'other', { idempotent: true });
    const concurrentResults = await Promise.all([call('one', otherStep), call('two', otherStep)]);
    return { output: { concurrentResults, last: await call('three', Promise.resolve()) } };
  },
};

/** Starts or continues the run until it ends. Answers every pause and advances the clock. */
async function finishRun(
  engine: Engine,
  workflowUnderTest: WorkflowUnderTest,
  clock: TestClock,
): Promise<VisibleResult> {
  for (const child of workflowUnderTest.children ?? []) await engine.deploy(child);
  const resultPromise = runToEnd(engine, workflowUnderTest);
  let isSettled = false;
  const settledPromise = resultPromise.then(
    () => (isSettled = true),
    () => (isSettled = true),
  );
  for (let round = 1; !isSettled; round++) {
    // A busy loop would take CPU time from the sandbox for which the run waits.
    const isAdvancing = round % 20 === 0;
    await Promise.race([settledPromise, isAdvancing ? delay(1) : new Promise(setImmediate)]);
    // Advancing by 0 fires the timers that are already due, such as those from before the stop.
    clock.advance(isAdvancing ? 500 : 0);
  }
  const { status, output, error } = await resultPromise;
  const logs = await engine.getLogs(RUN_ID);
  const blocks = logs.map(({ blockName, container, parents, status: endStatus, tries, errorHandled }) => {
    const scope = [...parents, ...(container ? [container] : [])].map(({ index }) => index);
    return `${[blockName, ...scope].join('.')} ${endStatus} ${tries} ${errorHandled}`;
  });
  const { length: childCount } = await engine.childRuns(RUN_ID);
  return { status, output, error: error?.code, blocks: blocks.toSorted(), childCount };
}

async function runToEnd(engine: Engine, workflowUnderTest: WorkflowUnderTest): Promise<RunResource> {
  for (;;) {
    const result = await startOrContinue(engine, workflowUnderTest);
    if (result.status !== 'paused') return result;
    const { runs } = await engine.listRuns({ status: ['paused'] });
    for (const { runId, pauses } of runs) {
      const [pause] = pauses.filter(({ kind }) => kind === 'human');
      if (pause) await engine.resume(runId, { token: pause.token, input: { n: pause.scope } });
    }
  }
}

async function startOrContinue(
  engine: Engine,
  { workflow, input = {}, mocks = null }: WorkflowUnderTest,
): Promise<RunResource> {
  try {
    return await (await engine.attach(RUN_ID)).result();
  } catch (error) {
    if (!isEngineError(error)) throw error;
    if (error.code === 'RUN_ENDED') return engine.getRun(RUN_ID);
    if (error.code !== 'RUN_NOT_FOUND') throw error;
    return engine.execute({ workflow }, input, { runId: RUN_ID, mocks });
  }
}

/** The executions of blocks in journals. */
interface Executions {
  /** Executions of blocks that have completed. */
  finished: Set<string>;
  /** Executions of blocks that have had an attempt or have one pending. */
  requested: Set<string>;
}

/** Returns the executions in the journals of the runs. */
async function readExecutions(
  { runs, definitions }: Stores,
  runIds: ReadonlySet<string>,
): Promise<Executions> {
  const finished = new Set<string>();
  const requested = new Set<string>();
  for (const runId of runIds) {
    const header = await runs.header(runId);
    if (!header) continue;
    const runState = new RunState(runId, readPlan((await definitions.plan(header.planHash)) ?? null));
    for (const entry of await runs.journal(runId)) {
      runState.apply(entry);
      if (entry.type === 'completed') finished.add(executionKey(runId, entry));
      if (entry.type === 'completed' || entry.type === 'failed') requested.add(executionKey(runId, entry));
    }
    for (const command of runState.pendingCommands())
      if (command.type === 'run') requested.add(executionKey(runId, runState.index.placeOf(command.at)));
  }
  return { finished, requested };
}

function executionKey(runId: string, { block, scope }: { block: string; scope: readonly number[] }): string {
  return `${runId} ${[block, ...scope].join('.')}`;
}
