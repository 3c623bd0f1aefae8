import type { Json } from '@heddle/core';
import { isJsonObject } from '@heddle/core/blocks';
import { serveRequests } from '../../store/control.ts';
import type { ControlRequest } from '../../store/control.ts';
import type { Stores } from '../../store/stores.ts';
import type { LocalDependencies } from './local-runtime.ts';
import { resumeRun } from './resume.ts';
import type { ResumeDependencies } from './resume.ts';

/**
 * Serves the requests that other processes send to the owner of the data folder. Returns a function that stops it, as
 * `serveRequests` does. If the engine does not recover runs (`recover` false), requests to resume runs that it has
 * neither started nor opened stay open for the next owner.
 */
export function serveControlRequests(
  dependencies: LocalDependencies & { stores: Stores },
  recover: boolean,
): Promise<() => Promise<void>> {
  return serveRequests(dependencies.stores.control, {
    onError: (error) => dependencies.onError(error, undefined),
    handle: (request) =>
      recover || request.kind === 'cancel' || dependencies.runs.has(request.runId)
        ? executeControlRequest(dependencies, request)
        : undefined,
  });
}

/**
 * Cancels or resumes a run as requested. In the result of a cancellation, `cancelled` is false if the run had ended
 * before the request, or did not end as cancelled. The result of a resume contains `seq`, the number of the last
 * journal entry once the resume is recorded; 0 if the same resume was recorded before and the run has ended since.
 */
export async function executeControlRequest(
  dependencies: ResumeDependencies,
  request: ControlRequest,
): Promise<Json> {
  const { runId, kind } = request;
  const payload = isJsonObject(request.payload) ? request.payload : {};
  const { reason, token, input = {} } = payload;
  if (kind === 'cancel') {
    const isCancelled = await dependencies.runs.cancel(
      runId,
      typeof reason === 'string' ? reason : undefined,
    );
    return { cancelled: isCancelled || (await wasCancelledSince(dependencies, request)) };
  }
  const seq = await resumeRun(
    dependencies,
    runId,
    { input, ...(typeof token === 'string' && { token }) },
    async (run) => run?.lastNotifiedSeq ?? 0,
  );
  return { resumed: true, seq };
}

/**
 * True if the run was cancelled after the request was made. A request is handled twice if the first owner dies after it
 * has cancelled the run and before it has stored the outcome.
 */
async function wasCancelledSince(
  { stores }: ResumeDependencies,
  { runId, createdMs }: ControlRequest,
): Promise<boolean> {
  const record = await stores.runs.record(runId);
  return record?.status === 'cancelled' && (record.endedMs ?? 0) >= createdMs;
}
