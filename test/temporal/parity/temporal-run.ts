import type { Entry, Plan } from '@heddle/core';
import type { Scenario } from '../../model/arbitraries.ts';
import { act, Reading } from './local-run.ts';
import type { Place, Step } from './local-run.ts';

/** A run that does not come to where the script has it by then will not come there. */
const PATIENCE_MS = 60_000;

/**
 * Runs the script; throws when the run does not come to where a step is due. `isThrough`: whether what has happened in
 * the run stands. What comes in while a workflow task is under way is put before the timers that have fired in it.
 */
export async function playAlong(
  place: Place,
  {
    plan,
    scenario,
    runId,
    steps,
    total,
    isThrough,
  }: {
    plan: Plan;
    scenario: Scenario;
    runId: string;
    steps: readonly Step[];
    total: number;
    isThrough: (runId: string) => Promise<boolean>;
  },
): Promise<Entry[]> {
  const { until } = scenario;
  const node = until === undefined ? undefined : plan.skeleton.nodes[until];
  const reading = new Reading(place, runId);
  let refusal: { error: unknown } | undefined;
  const refused = (error: unknown): void => void (refusal ??= { error });
  await place.engine.start({ plan }, {}, { runId, ...(node && { until: node.id }) });
  for (const step of steps) {
    await reached(step.seq, () => isDue(step), step);
    await act(place, runId, step, { entries: reading.entries, refused });
  }
  await reached(total, isOver, 'the end');
  await reading.more();
  place.effects.clear(runId);
  return reading.entries;

  function isDue(step: Step): boolean | Promise<boolean> {
    return step.do === 'answer' ? place.effects.calls(runId).includes(step.call) : isThrough(runId);
  }

  /** The record follows the journal. */
  async function isOver(): Promise<boolean> {
    return (await place.stores.runs.record(runId))?.endedMs !== undefined;
  }

  async function reached(
    seq: number,
    isReady: () => boolean | Promise<boolean>,
    what: unknown,
  ): Promise<void> {
    const sinceMs = performance.now();
    for (;;) {
      await reading.more();
      if (refusal) throw refusal.error;
      if ((reading.entries.at(-1)?.seq ?? 0) >= seq && (await isReady())) return;
      if (performance.now() - sinceMs > PATIENCE_MS) {
        const stored = (await place.stores.runs.record(runId))?.status;
        throw new Error(
          `entry ${seq} is not reached before ${JSON.stringify(what)}: ${JSON.stringify(reading.entries.slice(-5))}; called: ${place.effects.calls(runId).join(' ')}; ${stored}`,
        );
      }
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }
}
