import { isEngineError } from '@heddle/core';
import type { Json } from '@heddle/core';
import type { RunDetail, RunResource } from '@heddle/engine';
import { reserve } from '../../admission/admit-run.ts';
import { badRequest, conflict } from '../../errors.ts';
import type { ApiError } from '../../errors.ts';
import { defineOperation } from '../../operation.ts';
import type { Services } from '../../services.ts';
import { noQuery } from '../shapes.ts';
import { expectWorkflow } from '../workflows/operations.ts';
import { findRun } from './find.ts';
import { withCallerId } from './ids.ts';
import * as schemas from './schemas.ts';
import { receiptOf, resultOf } from './views.ts';

/** How often a run that was not waited for is asked whether it took the answer. */
const LOOK_EVERY_MS = 20;

export const resumeRun = defineOperation({
  id: 'resumeWorkflowRunV2',
  method: 'POST',
  path: '/api/v2/workflows/{workflowId}/runs/{runId}/resume',
  tag: 'Workflow Runs',
  summary: 'Answer a pause point that waits for a person',
  scope: 'api:write',
  role: 'write',
  workspaceKeys: true,
  resource: 'workflow',
  params: schemas.runPath,
  query: noQuery,
  body: schemas.resumeBody,
  success: [
    { status: 200, schema: schemas.runResult, description: 'How the run stands when it rests again' },
    {
      status: 202,
      schema: schemas.receipt,
      description: 'The answer was taken; the run was started asynchronously',
    },
  ],
  errors: [400, 401, 402, 403, 404, 409, 413, 415, 429, 503],
  async handle(services, { path, body, principal, origin }, workflow) {
    const row = expectWorkflow(workflow);
    const found = await findRun(services, row, path.runId);
    const { run, claim, engineId, runId } = found;
    if (!run) throw conflict(`Run ${runId} has not begun: nothing in it waits for a person.`);
    const resource = { workspaceId: row.workspace_id, resourceType: 'run', resourceId: runId };
    const input = (body.input ?? {}) as Json;
    const ids = { runId: engineId, workflowId: row.id, workspaceId: row.workspace_id };
    // Neither buckets nor places are asked for: what has begun may end.
    const leave = await reserve(services, { ...ids, userId: principal.userId, mode: 'resume' });
    const given = { token: body.contextId, input };
    const answered = withCallerId(found, () => answer(services, run, given)).finally(leave);
    const waits = claim === undefined || claim.mode === 'sync';
    const result = waits ? await answered : await taken(services, answered, engineId, body.contextId);
    await services.store.audit.record({ action: 'RUN_RESUMED', ...resource }, principal);
    const headers = { 'X-Run-Id': runId };
    if (waits && result) return { headers, data: resultOf({ ...result, runId }, null) };
    return { status: 202, headers, data: receiptOf(row.id, runId, origin) };
  },
});

/** Submits the answer, and resolves when the run rests again. */
async function answer(
  { engine }: Services,
  run: RunDetail,
  given: { token: string; input: Json },
): Promise<RunResource> {
  try {
    return await engine.resume(run.runId, given);
  } catch (error) {
    const none = isEngineError(error) && error.code === 'RESUME_POINT_NOT_FOUND';
    throw none && run.pauseKind === 'time' ? timed() : error;
  }
}

/** A run in which only timers are left has nothing that could be answered. */
function timed(): ApiError {
  return badRequest("Pause kind 'time' is not allowed for this resume endpoint (allowed: human)");
}

/** Resolves when the run rests again, or has at least taken the answer. Rejects when the answer is refused. */
async function taken(
  services: Services,
  answered: Promise<RunResource>,
  engineId: string,
  token: string,
): Promise<RunResource | undefined> {
  const { promise: seen, resolve, reject } = Promise.withResolvers<undefined>();
  const look = async (): Promise<void> => {
    const { pauses } = await services.engine.getRun(engineId);
    if (!pauses.some((pause) => pause.token === token)) resolve(undefined);
  };
  const stop = services.every(LOOK_EVERY_MS, () => void look().catch(reject));
  try {
    return await Promise.race([answered, seen]);
  } finally {
    stop();
    // What comes of the run later is in its record.
    answered.catch(services.report);
  }
}
