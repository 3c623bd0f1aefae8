import type { Entry, Plan } from '@heddle/core';
import type { Scenario } from '../../model/arbitraries.ts';
import { executeStep, JournalReader } from './local-run.ts';
import type { Environment, Step } from './local-run.ts';

/**
 * Maximum time until a run reaches the next step. Longer than a minute: if no worker receives a journal write, which
 * happens on a busy machine, the server retries it after a minute.
 */
const STEP_TIMEOUT_MS = 120_000;

/**
 * Executes the steps and returns the journal, which has at least `entryCount` entries. Throws if the run does not reach
 * a step in time. `isIdle` returns true if no workflow task is in progress: the SDK handles a signal that arrives
 * during a task before the timers that fired during the task.
 */
export async function executeSteps(
  environment: Environment,
  {
    plan,
    scenario,
    runId,
    steps,
    entryCount,
    isIdle,
  }: {
    plan: Plan;
    scenario: Scenario;
    runId: string;
    steps: readonly Step[];
    entryCount: number;
    isIdle: (runId: string) => Promise<boolean>;
  },
): Promise<Entry[]> {
  const { until } = scenario;
  const node = until === undefined ? undefined : plan.skeleton.nodes[until];
  const journal = new JournalReader(environment, runId);
  let refusal: { error: unknown } | undefined;
  const onRefused = (error: unknown): void => void (refusal ??= { error });
  await environment.engine.start({ plan }, {}, { runId, ...(node && { until: node.id }) });
  for (const step of steps) {
    await waitFor(step.seq, () => isDue(step), step);
    await executeStep(environment, runId, step, { entries: journal.entries, onRefused });
  }
  await waitFor(entryCount, isOver, 'the end');
  await journal.readNewEntries();
  environment.effects.clear(runId);
  return journal.entries;

  function isDue(step: Step): boolean | Promise<boolean> {
    return step.type === 'answer'
      ? environment.effects.pendingCallNames(runId).includes(step.call)
      : isIdle(runId);
  }

  /** Returns true if the run's record has an end time. The record is written after the journal, so the caller polls. */
  async function isOver(): Promise<boolean> {
    return (await environment.stores.runs.record(runId))?.endedMs !== undefined;
  }

  async function waitFor(
    seq: number,
    isReady: () => boolean | Promise<boolean>,
    target: unknown,
  ): Promise<void> {
    const startMs = performance.now();
    for (;;) {
      await journal.readNewEntries();
      if (refusal) throw refusal.error;
      if ((journal.entries.at(-1)?.seq ?? 0) >= seq && (await isReady())) return;
      if (performance.now() - startMs > STEP_TIMEOUT_MS) {
        const storedStatus = (await environment.stores.runs.record(runId))?.status;
        throw new Error(
          `The journal did not reach entry ${seq} before ${JSON.stringify(target)}: ${JSON.stringify(journal.entries.slice(-5))}; called: ${environment.effects.pendingCallNames(runId).join(' ')}; ${storedStatus}`,
        );
      }
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }
}
