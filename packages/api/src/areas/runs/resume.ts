import { isEngineError } from '@heddle/core';
import type { Json } from '@heddle/core';
import type { RunDetail, RunResource } from '@heddle/engine';
import { reserveUsage } from '../../admission/admit-run.ts';
import type { AreaContext } from '../../context.ts';
import { AUTHENTICATED_PRINCIPALS } from '../../auth/principal.ts';
import { badRequest, conflict } from '../../errors.ts';
import type { ApiError } from '../../errors.ts';
import { operationFactory } from '../../operation.ts';
import { workflow as workflowResource } from '../../resource.ts';
import { noQuery } from '../common-schemas.ts';
import { findRun } from './find.ts';
import { withCallerRunId } from './ids.ts';
import type { RunIds } from './ids.ts';
import * as schemas from './schemas.ts';
import { acceptedRunOf, resultOf } from './views.ts';

/** Interval at which a resumed run is polled until it has accepted the answer. */
const POLL_MS = 20;

export const resumeRun = operationFactory<AreaContext>()({
  id: 'resumeWorkflowRunV2',
  method: 'POST',
  path: '/api/v2/workflows/{workflowId}/runs/{runId}/resume',
  tag: 'Workflow Runs',
  summary: 'Answer a pause point that waits for a person',
  principals: AUTHENTICATED_PRINCIPALS,
  scope: 'api:write',
  role: 'write',
  resource: workflowResource,
  audit: { resourceType: 'run', actions: ['RUN_RESUMED'] },
  params: schemas.runPath,
  query: noQuery,
  body: schemas.resumeBody,
  success: [
    {
      status: 200,
      schema: schemas.runResult,
      description: 'The result of the run when it ends or pauses again',
    },
    {
      status: 202,
      schema: schemas.acceptedRun,
      description: 'The answer was accepted; the run was started asynchronously',
    },
  ],
  errors: [400, 401, 402, 403, 404, 409, 413, 415, 429, 503],
  async handle(services, { path, body, principal, origin, runAudited }, workflow) {
    const foundRun = await findRun(services, workflow, path.runId);
    const { run, reservation, runId } = foundRun;
    if (!run) throw conflict(`Run ${runId} has not started: nothing in it can be resumed.`);
    const input = (body.input ?? {}) as Json;
    const isSync = reservation === undefined || reservation.mode === 'sync';
    const answer = { token: body.contextId, input, userId: principal.userId };
    const { nextResult } = await runAudited({ resourceId: runId }, () =>
      submitAnswer(services, { ...foundRun, run, workspaceId: workflow.workspaceId }, answer),
    );
    const headers = { 'X-Run-Id': runId };
    if (isSync) return { headers, data: resultOf({ ...(await nextResult), runId }, null) };
    // The response does not wait for the run.
    nextResult.catch(services.onError);
    return { status: 202, headers, data: acceptedRunOf(workflow.id, runId, origin) };
  },
});

/**
 * Answers a pause point. Resolves when the run has accepted the answer. Throws the run's error if the run refuses the
 * answer. The caller must handle `nextResult`, the result when the run ends or pauses again.
 */
export async function submitAnswer(
  services: AreaContext,
  foundRun: RunIds & { run: RunDetail; workspaceId: string },
  { userId, ...answer }: { token: string; input: Json; userId: string | null },
): Promise<{ nextResult: Promise<RunResource> }> {
  const { run, engineRunId, workspaceId } = foundRun;
  const ids = { runId: engineRunId, workflowId: run.workflowId, workspaceId };
  // Neither the rate limit nor the concurrency limit applies: a run that has started must be able to end.
  const release = await reserveUsage(services, { ...ids, userId, mode: 'resume' });
  const nextResult = withCallerRunId(foundRun, () => resume(services, run, answer)).finally(release);
  // Prevents an unhandled rejection before the caller gets the promise.
  nextResult.catch(() => undefined);
  await waitForAcceptance(services, nextResult, engineRunId, answer.token);
  return { nextResult };
}

/** Submits the answer. Resolves when the run ends or pauses again. */
async function resume(
  { engine }: AreaContext,
  run: RunDetail,
  answer: { token: string; input: Json },
): Promise<RunResource> {
  try {
    return await engine.resume(run.runId, answer);
  } catch (error) {
    const isUnknown = isEngineError(error) && error.code === 'RESUME_POINT_NOT_FOUND';
    throw isUnknown && run.pauseKind === 'time' ? timedPauseError() : error;
  }
}

/** Returns the 400 for a run that waits only for timers. */
function timedPauseError(): ApiError {
  return badRequest("Pause kind 'time' is not allowed for this resume endpoint (allowed: human)");
}

/** Resolves when the run has accepted the answer. Rejects when the run refuses the answer. */
async function waitForAcceptance(
  services: AreaContext,
  nextResult: Promise<RunResource>,
  engineRunId: string,
  token: string,
): Promise<void> {
  const { promise: acceptance, resolve, reject } = Promise.withResolvers<void>();
  const poll = async (): Promise<void> => {
    const { pauses } = await services.engine.getRun(engineRunId);
    if (!pauses.some((pause) => pause.token === token)) resolve();
  };
  const stop = services.repeat(POLL_MS, () => void poll().catch(reject));
  try {
    await Promise.race([nextResult, acceptance]);
  } finally {
    stop();
  }
}
