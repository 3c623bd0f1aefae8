import { EngineError } from '@heddle/core';
import type { Json } from '@heddle/core';
import type { EngineParts } from '../../parts.ts';
import { answerTo, refuse, wasToken } from '../../execution/resume-answer.ts';
import type { ActiveRun } from './active-run.ts';
import type { Runtime } from './run-registry.ts';

type Parts = Pick<EngineParts, 'stores' | 'registry' | 'values' | 'clock'> & { runtime: Runtime };

/**
 * Submits `input` to a pause point, and resolves with `then` of the run as it goes on; undefined stands for a run that
 * has ended since the same token was answered before.
 *
 * Throws RUN_NOT_FOUND, RUN_ENDED, RESUME_POINT_NOT_FOUND, RESUME_POINT_CLOSED, RESUME_INPUT_INVALID, ENV_MISSING; a
 * refused resume leaves no trace.
 */
export async function resumeRun<T>(
  parts: Parts,
  runId: string,
  { token, input = {} }: { token?: string; input?: Json },
  then: (run: ActiveRun | undefined) => Promise<T>,
): Promise<T> {
  const run = await parts.runtime.open(runId);
  // Somebody who listens keeps the run from being put away.
  const release = run?.listen(() => undefined);
  try {
    await submit(parts, run, { runId, token, input });
    return await then(run);
  } finally {
    release?.();
  }
}

async function submit(
  parts: Parts,
  run: ActiveRun | undefined,
  { runId, token, input }: { runId: string; token: string | undefined; input: Json },
): Promise<void> {
  const point = run?.pauses.find(token);
  if (run && point) {
    if (run.suspended !== undefined)
      throw new EngineError('ENV_MISSING', run.suspended, { details: { runId } });
    return run.pauses.answer(point, input, await answerTo(parts, run.replica.plan, point, input));
  }
  const answered =
    token !== undefined && (run?.pauses.answering(token) ?? wasToken(parts, runId, token, 'resumed'));
  if ((await answered) === false) await refuse(parts, runId, { open: run?.pauses.open(), token });
}
