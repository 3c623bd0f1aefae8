import { randomUUID } from 'node:crypto';
import type { Principal } from '../../auth/principal.ts';
import { ApiError, unavailable } from '../../errors.ts';
import type { Services } from '../../services.ts';
import type { ClaimRow, WorkflowRow } from '../../store/schema.ts';
import { engineRun } from './find.ts';
import type { RunIds } from './ids.ts';
import { isManual } from './rules.ts';
import type { ExecuteBody } from './schemas.ts';
import type { NewClaim } from './store.ts';

/** How often an id of our own is taken that turns out to be used. */
const MOST_CLAIMS = 3;

/** The ids of the run to be, used from now on in the workspace. Throws 409, 503. */
export async function claim(
  services: Services,
  workflow: WorkflowRow,
  { headers, body, principal }: { headers: Headers; body: ExecuteBody; principal: Principal },
): Promise<RunIds> {
  // Who is not known cannot choose an id: it would be taken from those who are.
  const given = principal.anonymous ? null : headers.get('x-run-id');
  const row: Omit<NewClaim, 'engine_id' | 'run_id'> = {
    workflow_id: workflow.id,
    workspace_id: workflow.workspace_id,
    trigger: isManual(body) ? 'manual' : 'api',
    mode: modeOf(body),
    created_at: new Date(services.now()).toISOString(),
  };
  if (given !== null && (await isUnclaimedRun(services, workflow, given))) throw taken(given);
  for (let tries = 1; tries <= MOST_CLAIMS; tries += 1) {
    const engineId = randomUUID();
    const runId = given ?? engineId;
    if (await claimed(services, { ...row, engine_id: engineId, run_id: runId })) return { engineId, runId };
    if (given !== null) throw taken(given);
  }
  throw unavailable();
}

/** True when the engine has a run of this id in the workspace that came about without a claim: the host started it. */
async function isUnclaimedRun(
  { engine, store }: Services,
  { workspace_id }: WorkflowRow,
  runId: string,
): Promise<boolean> {
  const run = await engineRun(engine, runId);
  const owner = run && (await store.workflows.find(run.workflowId));
  return owner?.workspace_id === workspace_id && (await store.claims.find(runId)) === undefined;
}

async function claimed({ store, report }: Services, row: NewClaim): Promise<boolean> {
  try {
    return await store.claims.claim(row);
  } catch (error) {
    report(error);
    throw unavailable();
  }
}

/** 409 for an id that has been used. */
export function taken(runId: string): ApiError {
  return new ApiError(409, 'Run ID has already been used', {
    details: { code: 'RUN_ID_CONFLICT', runId },
    headers: { 'X-Run-Id': runId },
  });
}

/** How the caller learns what has come of the run. */
export function modeOf(body: ExecuteBody): ClaimRow['mode'] {
  if (body.async) return 'async';
  return body.stream ? 'stream' : 'sync';
}
