import { randomUUID } from 'node:crypto';
import type { DeploymentOptions, WorkerTuning } from '@heddle/temporal';
import { openStores } from '@heddle/engine/stores';
import { createEngineOn } from '../../../packages/engine/src/create.ts';
import { builtInExecutors } from '../../../packages/engine/src/executors/built-ins.ts';
import { createRegistry } from '../../../packages/engine/src/executors/registry.ts';
import type { Scenario } from '../../model/arbitraries.ts';
import { eventTypeOf, HistoryReader, findReplayErrors } from '../replay/histories.ts';
import type { RunHistory, TemporalServer } from '../replay/histories.ts';
import { openEngine } from '../replay/open-engine.ts';
import { runLocally } from './local-run.ts';
import type { Environment } from './local-run.ts';
import { CHILD_WORKFLOWS, planOf } from './scenario-plan.ts';
import { findFirstDifference, readComparableRun } from './comparable-run.ts';
import { PendingEffects } from './effects.ts';
import { executeSteps } from './temporal-run.ts';

/** Maximum time of a run on both runtimes together. */
const RUN_TIMEOUT_MS = 200_000;

/** Number of comparisons of a scenario if the server loses workflow tasks. */
const MAX_COMPARISONS = 3;

/** The concurrency allows all effects of a run to wait at the same time: the steps decide which is answered next. */
const ENGINE_OPTIONS = { concurrency: { engine: 10_000, run: 10_000 }, sandbox: { maxProcesses: 1 } };

export type Deployment = Omit<DeploymentOptions, 'taskQueue'> & { worker?: WorkerTuning };

type ClosableEnvironment = Environment & { close(): Promise<void> };

/** The local runtime in memory and the Temporal runtime on a server, which must give every run the same result. */
export class RuntimePair {
  readonly #local: ClosableEnvironment;
  readonly #temporal: ClosableEnvironment;
  readonly #historyReader: HistoryReader;
  /** True if the Temporal runtime executes every block in its own activity. */
  readonly #isPerBlock: boolean;
  readonly #comparisons: { scenario: Scenario; histories: RunHistory[] }[] = [];

  private constructor(fields: {
    local: ClosableEnvironment;
    temporal: ClosableEnvironment;
    historyReader: HistoryReader;
    isPerBlock: boolean;
  }) {
    this.#local = fields.local;
    this.#temporal = fields.temporal;
    this.#historyReader = fields.historyReader;
    this.#isPerBlock = fields.isPerBlock;
  }

  static async open(
    server: TemporalServer,
    { data, deployment }: { data: string; deployment: Deployment },
  ): Promise<RuntimePair> {
    const local = await openLocalEnvironment();
    const effects = new PendingEffects();
    const temporal = await openEngine(server, {
      ...deployment,
      data,
      options: { ...ENGINE_OPTIONS, blocks: effects.executors },
      worker: { maxConcurrentActivities: 1000, ...deployment.worker },
    });
    for (const { engine } of [local, temporal])
      for (const child of CHILD_WORKFLOWS) await engine.deploy(child);
    const historyReader = await HistoryReader.connect(server);
    return new RuntimePair({
      local,
      temporal: { ...temporal, effects },
      historyReader,
      isPerBlock: deployment.checkpoint === 'block',
    });
  }

  /**
   * Executes the scenario on both runtimes. Throws with the first difference of the runs. Returns false without a
   * comparison if the order of events is undefined. If the runs differ, and the server has lost a workflow task (on a
   * busy machine, because it took ten seconds), compares the scenario again: a segment of the lost task runs again, and
   * may end after a child run that would otherwise end later.
   */
  async compare(scenario: Scenario, comparisonNumber = 1): Promise<boolean> {
    const runOptions = {
      plan: planOf(scenario),
      scenario,
      runId: randomUUID(),
      isPerBlock: this.#isPerBlock,
    };
    let phase = 'the local run';
    const compareRuns = async (): Promise<boolean> => {
      const localRun = await runLocally(this.#local, runOptions);
      if (localRun.isRacy) return false;
      phase = `the run ${runOptions.runId} on the server`;
      const entries = await executeSteps(this.#temporal, {
        ...runOptions,
        ...localRun,
        entryCount: localRun.entries.length,
        isIdle: (runId) => this.#historyReader.isIdle(runId),
      });
      const expected = await readComparableRun(this.#local.engine, runOptions.runId, localRun.entries);
      const actual = await readComparableRun(this.#temporal.engine, runOptions.runId, entries);
      const difference = findFirstDifference(expected, actual);
      phase = 'the end of the workflow';
      const histories = await this.#historyReader.readHistories(runOptions.runId);
      if (difference !== undefined) {
        if (comparisonNumber < MAX_COMPARISONS && hasLostTask(histories))
          return this.compare(scenario, comparisonNumber + 1);
        throw new Error(`The runs differ: ${difference}`);
      }
      this.#comparisons.push({ scenario, histories });
      return true;
    };
    return withTimeout(RUN_TIMEOUT_MS, compareRuns()).catch(async (error: unknown) => {
      const history = await this.#historyReader.summarize(runOptions.runId);
      throw new Error(`${String(error)}; ${phase}; ${history}`, { cause: error });
    });
  }

  /**
   * Returns the scenarios whose histories cannot be replayed. One worker replays all of them: the SDK never frees the
   * source map of a worker, and hundreds of source maps would exhaust the memory of the process.
   */
  async findUnreplayableScenarios(): Promise<{ scenario: Scenario; error: string }[]> {
    const errors = await findReplayErrors(this.#comparisons.flatMap(({ histories }) => histories));
    return errors.map((error) => {
      const [runId] = error.split(':');
      const comparison = this.#comparisons.find(({ histories }) => histories[0]?.workflowId === runId);
      if (!comparison) throw new Error(error);
      return { scenario: comparison.scenario, error: `replay: ${error}` };
    });
  }

  async close(): Promise<void> {
    await this.#historyReader.close();
    await this.#temporal.close();
    await this.#local.close();
  }
}

function hasLostTask(histories: readonly RunHistory[]): boolean {
  return histories.some(({ history }) =>
    history.events?.some((event) => eventTypeOf(event) === 'workflowTaskTimedOut'),
  );
}

async function openLocalEnvironment(): Promise<ClosableEnvironment> {
  const effects = new PendingEffects();
  const stores = openStores();
  const registry = createRegistry(builtInExecutors, effects.executors);
  const engine = await createEngineOn(stores, registry, { ...ENGINE_OPTIONS, blocks: effects.executors });
  return { engine, stores, effects, close: () => engine.close({ graceMs: 0 }) };
}

async function withTimeout<T>(ms: number, promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`The run took longer than ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([promise, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
