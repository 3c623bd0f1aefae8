import { EngineError } from '@heddle/core';
import type { RunHeader } from '@heddle/core';

export function runNotFoundError(runId: string): EngineError {
  return new EngineError('RUN_NOT_FOUND', `There is no run ${runId}.`, { details: { runId } });
}

export function runIdTakenError(runId: string): EngineError {
  const message = `A run with the id ${runId} already exists: every run needs its own id.`;
  return new EngineError('RUN_ID_TAKEN', message, { details: { runId } });
}

/** Returns the error RUN_ELSEWHERE for a run that belongs to another kind of runtime. */
export function runElsewhere({ runId, elsewhere }: Pick<RunHeader, 'runId' | 'elsewhere'>): EngineError {
  const message = elsewhere
    ? `Run ${runId} belongs to a runtime of several processes, such as Temporal: only an engine on that runtime can continue it.`
    : `Run ${runId} does not belong to this runtime: only an engine without the option \`runtime\` can continue it.`;
  return new EngineError('RUN_ELSEWHERE', message, { details: { runId } });
}

/** Returns the error ENGINE_CLOSED for a caller who waits for a run. */
export function runStoppedByClose(runId: string): EngineError {
  return new EngineError(
    'ENGINE_CLOSED',
    `The engine is closed: run ${runId} continues when the next engine recovers it.`,
    { details: { runId } },
  );
}

/** Returns the error RESUME_POINT_CLOSED for a pause point of the run. */
export function pausePointClosedError(runId: string): EngineError {
  return new EngineError(
    'RESUME_POINT_CLOSED',
    `That pause point of run ${runId} is closed: the run has continued without it.`,
  );
}
