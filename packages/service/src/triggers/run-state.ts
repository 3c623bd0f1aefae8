import { isEngineError } from '@heddle/core';
import type { RunDetail } from '@heddle/engine';
import type { AreaContext } from '@heddle/api';

/** The state of a run. `isUnknown`: there is no run, or it was deleted. */
export type LastRunState = { isInProgress: boolean; error?: string | undefined; isUnknown?: true };

/** Returns whether the run is queued, running or paused, and why it has failed. */
export async function stateOfRun(
  { engine, reservations }: Pick<AreaContext, 'engine' | 'reservations'>,
  runId: string,
): Promise<LastRunState> {
  const run = await findRun(engine, runId);
  if (run) return toLastRunState(run);
  const reservation = (await reservations.findByEngineRunIds([runId])).get(runId);
  if (reservation?.isQueued) return { isInProgress: true };
  if (reservation?.failure) return { isInProgress: false, error: reservation.failure.message };
  // The run has started since the first query, or it was deleted.
  const startedRun = reservation && (await findRun(engine, runId));
  return startedRun ? toLastRunState(startedRun) : { isInProgress: false, isUnknown: true };
}

async function findRun(engine: AreaContext['engine'], runId: string): Promise<RunDetail | undefined> {
  try {
    return await engine.getRun(runId);
  } catch (error) {
    if (isEngineError(error) && error.code === 'RUN_NOT_FOUND') return undefined;
    throw error;
  }
}

function toLastRunState({ status, error }: Pick<RunDetail, 'status' | 'error'>): LastRunState {
  if (status === 'completed' || status === 'cancelled') return { isInProgress: false };
  if (status === 'failed') return { isInProgress: false, error: error?.message ?? 'The run has failed.' };
  return { isInProgress: true };
}
