import { Replica } from '@heddle/core/run';
import type { Command, Entry } from '@heddle/core/run';
import type { Engine } from '@heddle/engine';
import type { SharedStores } from '@heddle/engine/stores';
import type { Plan } from '@heddle/core';
import type { Scenario } from '../../model/arbitraries.ts';
import { numbers } from '../../support/seeded.ts';
import { callName } from './effects.ts';
import type { HeldEffects } from './effects.ts';

/** What the test does to a run when it is quiet: when its journal has `seq` entries and nothing moves it. */
export type Step = { seq: number } & (
  | { do: 'answer'; call: string }
  | { do: 'resume'; block: string; scope: readonly number[] }
  | { do: 'cancel' }
);

/** Where runs of a test run. */
export interface Place {
  engine: Engine;
  stores: Pick<SharedStores, 'runs'>;
  effects: HeldEffects;
}

/** What is done to a run at a moment at which nothing moves it. */
export type Action = Step extends infer S ? (S extends Step ? Omit<S, 'seq'> : never) : never;

/** Entries of a run's journal, as they come. */
export class Reading {
  readonly entries: Entry[] = [];
  readonly #runs: Place['stores']['runs'];
  readonly #runId: string;

  constructor({ stores }: Place, runId: string) {
    this.#runs = stores.runs;
    this.#runId = runId;
  }

  /** Those that have come since the last call. */
  async more(): Promise<Entry[]> {
    const fresh = await this.#runs.tail(this.#runId, this.entries.at(-1)?.seq ?? -1);
    this.entries.push(...fresh);
    return fresh;
  }
}

/** Things that happen by themselves, at a time of their own. */
const ASYNC = new Set(['retry', 'wait', 'timeout']);

/**
 * A script for the run: in an order that the scenario draws, one thing at a time, whenever nothing else moves. `apart`:
 * where it is to be played along, each block runs by itself; `racy`: there, the order of things is anybody's.
 */
export async function playLocally(
  place: Place,
  { plan, scenario, runId, apart }: { plan: Plan; scenario: Scenario; runId: string; apart: boolean },
): Promise<{ steps: Step[]; entries: Entry[]; racy: boolean }> {
  const replica = new Replica(runId, plan);
  const reading = new Reading(place, runId);
  const draw = numbers(scenario.order);
  const steps: Step[] = [];
  let racy = false;
  let refusal: { error: unknown } | undefined;
  const refused = (error: unknown): void => void (refusal ??= { error });
  const { until } = scenario;
  const node = until === undefined ? undefined : plan.skeleton.nodes[until];
  await place.engine.start({ plan }, {}, { runId, ...(node && { until: node.id }) });
  for (;;) {
    const moves = await quiet();
    if (!moves) break;
    const move = moves[Math.floor(draw() * moves.length)] as Action;
    const step = { seq: replica.seq, ...(draw() < 0.02 ? { do: 'cancel' as const } : move) } as Step;
    steps.push(step);
    await act(place, runId, step, { entries: reading.entries, refused });
  }
  place.effects.clear(runId);
  return { steps, entries: reading.entries, racy };

  /** What can be done next; undefined when the run has ended. */
  async function quiet(): Promise<Action[] | undefined> {
    const sinceMs = performance.now();
    const { seq } = replica;
    for (;;) {
      for (const entry of await reading.more()) {
        replica.apply(entry);
        racy ||= isRacy(replica.pendingCommands());
      }
      if (replica.idleState() === 'ended') return undefined;
      const moves = replica.pendingCommands().map(moveOf);
      if (replica.seq > seq && !moves.includes('moving'))
        return moves.filter((move) => typeof move === 'object');
      if (refusal) throw refusal.error;
      if (performance.now() - sinceMs > 20_000)
        throw new Error(`never quiet: ${JSON.stringify(replica.pendingCommands())}`);
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  }

  function moveOf(command: Command): Action | 'moving' | 'still' {
    if (command.type === 'abort' || command.type === 'end') return 'moving';
    const { block, scope } =
      command.at.length % 2 === 1 ? replica.index.placeOf(command.at) : { block: '', scope: [] };
    if (command.type === 'open') return { do: 'resume', block, scope };
    if (command.type === 'timer') return ASYNC.has(command.timer) ? 'moving' : 'still';
    if (command.type === 'expand') return 'moving';
    const call = callName(block, scope, command.try);
    return place.effects.calls(runId).includes(call) ? { do: 'answer', call } : 'moving';
  }

  /** True where two things are under way that end when they please. */
  function isRacy(pending: readonly Command[]): boolean {
    const free = pending.filter((command) => {
      if (command.type === 'timer') return ASYNC.has(command.timer);
      if (command.type !== 'run') return apart && command.type === 'expand';
      const { class: kind } = replica.index.node(command.at);
      return kind === 'child' || (apart && kind !== 'effect');
    });
    return free.length > 1 || (free.length > 0 && !apart && pending.some(({ type }) => type === 'expand'));
  }
}

/** Carries out a due step. Calls `refused` when an answer is rejected. */
export async function act(
  place: Place,
  runId: string,
  step: Step,
  { entries, refused }: { entries: readonly Entry[]; refused: (error: unknown) => void },
): Promise<void> {
  const { engine, effects } = place;
  if (step.do === 'answer') effects.answer(runId, step.call);
  else if (step.do === 'cancel') await engine.cancel(runId, 'drawn');
  else {
    const scope = step.scope.join('.');
    const token = entries.findLast(
      (entry) => entry.type === 'paused' && entry.block === step.block && entry.scope.join('.') === scope,
    ) as { token?: string } | undefined;
    // It resolves at the run's next rest, which others bring about.
    engine.resume(runId, { token: token?.token ?? '', input: { ok: true } }).catch(refused);
  }
}
