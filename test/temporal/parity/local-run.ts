import { RunState } from '@heddle/core/run';
import type { Command, Entry } from '@heddle/core/run';
import type { Engine } from '@heddle/engine';
import type { SharedStores } from '@heddle/engine/stores';
import type { Plan } from '@heddle/core';
import type { Scenario } from '../../model/arbitraries.ts';
import { createSeededRandom } from '../../support/seeded-random.ts';
import { callName } from './effects.ts';
import type { PendingEffects } from './effects.ts';
import { RaceDetector, INDEPENDENT_TIMERS } from './race-detector.ts';

/** An action of the test on a run that is idle until the test acts. `seq`: the length of the run's journal. */
export type Step = { seq: number } & (
  | { type: 'answer'; call: string }
  | { type: 'resume'; block: string; scope: readonly number[] }
  | { type: 'cancel' }
);

/** An engine with its stores, and the effects that the test answers. */
export interface Environment {
  engine: Engine;
  stores: Pick<SharedStores, 'runs'>;
  effects: PendingEffects;
}

/** A step without the length of the journal. */
export type Action = Step extends infer S ? (S extends Step ? Omit<S, 'seq'> : never) : never;

/** Reads a run's journal while the run writes it. */
export class JournalReader {
  readonly entries: Entry[] = [];
  readonly #runs: Environment['stores']['runs'];
  readonly #runId: string;

  constructor({ stores }: Environment, runId: string) {
    this.#runs = stores.runs;
    this.#runId = runId;
  }

  /** Returns the entries since the last call. */
  async readNewEntries(): Promise<Entry[]> {
    const newEntries = await this.#runs.tail(this.#runId, this.entries.at(-1)?.seq ?? -1);
    this.entries.push(...newEntries);
    return newEntries;
  }
}

/**
 * Executes the scenario. Whenever the run is idle, takes a random step, which depends only on the scenario. Returns the
 * steps and the journal. `isPerBlock`: the other runtime executes every block in its own activity. `isRacy`: the order
 * of events is undefined, so the other runtime may write a different journal.
 */
export async function runLocally(
  environment: Environment,
  {
    plan,
    scenario,
    runId,
    isPerBlock,
  }: { plan: Plan; scenario: Scenario; runId: string; isPerBlock: boolean },
): Promise<{ steps: Step[]; entries: Entry[]; isRacy: boolean }> {
  const runState = new RunState(runId, plan);
  const journalReader = new JournalReader(environment, runId);
  const raceDetector = new RaceDetector(runState, { isPerBlock });
  const random = createSeededRandom(scenario.orderSeed);
  const steps: Step[] = [];
  let refusal: { error: unknown } | undefined;
  const onRefused = (error: unknown): void => void (refusal ??= { error });
  const { until } = scenario;
  const node = until === undefined ? undefined : plan.skeleton.nodes[until];
  await environment.engine.start({ plan }, {}, { runId, ...(node && { until: node.id }) });
  for (;;) {
    const actions = await waitUntilIdle();
    if (!actions) break;
    const action = actions[Math.floor(random() * actions.length)] as Action;
    const step = { seq: runState.seq, ...(random() < 0.02 ? { type: 'cancel' as const } : action) } as Step;
    steps.push(step);
    await executeStep(environment, runId, step, { entries: journalReader.entries, onRefused });
  }
  environment.effects.clear(runId);
  return { steps, entries: journalReader.entries, isRacy: raceDetector.isRacy };

  /** Waits until the run is idle. Returns the possible actions; undefined if the run has ended. */
  async function waitUntilIdle(): Promise<Action[] | undefined> {
    const startMs = performance.now();
    const { seq } = runState;
    for (;;) {
      for (const entry of await journalReader.readNewEntries())
        raceDetector.recordEntry(entry, runState.apply(entry));
      if (runState.idleState() === 'ended') return undefined;
      const actions = runState.pendingCommands().map(actionFor);
      if (runState.seq > seq && !actions.includes('in-progress')) {
        raceDetector.recordIdle();
        return actions.filter((action) => typeof action === 'object');
      }
      if (refusal) throw refusal.error;
      if (performance.now() - startMs > 20_000)
        throw new Error(`The run did not become idle: ${JSON.stringify(runState.pendingCommands())}`);
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  }

  /** Returns the action that the command waits for; `in-progress` if it ends without the test; `ignored` for others. */
  function actionFor(command: Command): Action | 'in-progress' | 'ignored' {
    if (command.type === 'abort' || command.type === 'end') return 'in-progress';
    const { block, scope } =
      command.at.length % 2 === 1 ? runState.index.placeOf(command.at) : { block: '', scope: [] };
    if (command.type === 'open') return { type: 'resume', block, scope };
    if (command.type === 'timer') return INDEPENDENT_TIMERS.has(command.timer) ? 'in-progress' : 'ignored';
    if (command.type === 'expand') return 'in-progress';
    const call = callName(block, scope, command.try);
    return environment.effects.pendingCallNames(runId).includes(call)
      ? { type: 'answer', call }
      : 'in-progress';
  }
}

/** Executes a step. Calls `onRefused` with the error of a rejected resume. */
export async function executeStep(
  environment: Environment,
  runId: string,
  step: Step,
  { entries, onRefused }: { entries: readonly Entry[]; onRefused: (error: unknown) => void },
): Promise<void> {
  const { engine, effects } = environment;
  if (step.type === 'answer') effects.answer(runId, step.call);
  else if (step.type === 'cancel') await engine.cancel(runId, 'chosen at random');
  else {
    const scope = step.scope.join('.');
    const pause = entries.findLast(
      (entry) => entry.type === 'paused' && entry.block === step.block && entry.scope.join('.') === scope,
    ) as { token?: string } | undefined;
    // Not awaited, because the promise resolves when the run is idle again, which may take further steps.
    engine.resume(runId, { token: pause?.token ?? '', input: { ok: true } }).catch(onRefused);
  }
}
