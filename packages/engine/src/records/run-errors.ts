import { EngineError } from '@heddle/core';
import type { NewRun } from '@heddle/core';

export function runNotFound(runId: string): EngineError {
  return new EngineError('RUN_NOT_FOUND', `There is no run ${runId}.`, { details: { runId } });
}

export function runIdTaken(runId: string): EngineError {
  const message = `There is a run ${runId} already: every run needs an id of its own.`;
  return new EngineError('RUN_ID_TAKEN', message, { details: { runId } });
}

/** RUN_ELSEWHERE for a run that another kind of runtime moves. */
export function runElsewhere({ runId, elsewhere }: Pick<NewRun, 'runId' | 'elsewhere'>): EngineError {
  const message = elsewhere
    ? `Run ${runId} is on a runtime of many processes, such as Temporal: only an engine on that runtime can move it.`
    : `Run ${runId} is no run of this runtime: an engine that opens its data folder alone can move it.`;
  return new EngineError('RUN_ELSEWHERE', message, { details: { runId } });
}

/** ENGINE_CLOSED for a caller who waits for a run. */
export function runLeft(runId: string): EngineError {
  return new EngineError(
    'ENGINE_CLOSED',
    `The engine is closed: run ${runId} goes on when the next one takes it up.`,
    { details: { runId } },
  );
}

/** RESUME_POINT_CLOSED for a point of the run. */
export function pointClosed(runId: string): EngineError {
  return new EngineError(
    'RESUME_POINT_CLOSED',
    `That pause point of run ${runId} is closed: the run has moved on without it.`,
  );
}
