import { EngineError } from '@heddle/core';
import type { Json } from '@heddle/core';
import { hasTokenEntry, rejectResume, resumedOutput } from '../../execution/resume-answer.ts';
import type { RuntimeDependencies } from '../../execution/runtime-dependencies.ts';
import type { ActiveRun } from './active-run.ts';
import type { RunRegistry } from './run-registry.ts';

export type ResumeDependencies = Pick<RuntimeDependencies, 'stores' | 'registry' | 'values' | 'clock'> & {
  runs: RunRegistry;
};

/**
 * Submits `input` to a pause point, then calls `onResumed` with the resumed run and resolves with its result. Calls
 * `onResumed` with undefined if the same token was resumed before and the run has ended in the meantime.
 *
 * Throws RUN_NOT_FOUND, RUN_ENDED, RESUME_POINT_NOT_FOUND, RESUME_POINT_CLOSED, RESUME_INPUT_INVALID, ENV_MISSING. A
 * rejected resume changes nothing.
 */
export async function resumeRun<T>(
  dependencies: ResumeDependencies,
  runId: string,
  { token, input = {} }: { token?: string; input?: Json },
  onResumed: (run: ActiveRun | undefined) => Promise<T>,
): Promise<T> {
  const run = await dependencies.runs.open(runId);
  // A listener prevents the eviction of the run.
  const removeListener = run?.listen(() => undefined);
  try {
    await submitAnswer(dependencies, run, { runId, token, input });
    return await onResumed(run);
  } finally {
    removeListener?.();
  }
}

async function submitAnswer(
  dependencies: ResumeDependencies,
  run: ActiveRun | undefined,
  { runId, token, input }: { runId: string; token: string | undefined; input: Json },
): Promise<void> {
  const point = run?.pauses.find(token);
  if (run && point) {
    if (run.suspensionReason !== undefined)
      throw new EngineError('ENV_MISSING', run.suspensionReason, { details: { runId } });
    return run.pauses.resume(
      point,
      input,
      await resumedOutput(dependencies, run.runState.plan, point, input),
    );
  }
  // An earlier resume with the same token: one that is being recorded, or one in the journal.
  const earlierResume =
    token !== undefined &&
    (run?.pauses.resumeInProgress(token) ?? hasTokenEntry(dependencies, runId, token, 'resumed'));
  if ((await earlierResume) === false)
    await rejectResume(dependencies, runId, { openPoints: run?.pauses.openPoints(), token });
}
