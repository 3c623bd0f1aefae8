import { randomUUID } from 'node:crypto';
import type { Principal } from '../../auth/principal.ts';
import { ApiError, unavailable } from '../../errors.ts';
import type { Services } from '../../services.ts';
import type { ReservationRow, WorkflowRow } from '../../store/schema.ts';
import { engineRun } from './find.ts';
import type { RunIds } from './ids.ts';
import { isManual } from './rules.ts';
import type { ExecuteBody } from './schemas.ts';
import type { NewReservation } from './store.ts';

/** How often an id of our own is taken that turns out to be used. */
const MOST_CLAIMS = 3;

/** The ids of the run to be, used from now on in the workspace. Throws 409, 503. */
export async function reserveRunId(
  services: Services,
  workflow: WorkflowRow,
  { headers, body, principal }: { headers: Headers; body: ExecuteBody; principal: Principal },
): Promise<RunIds> {
  // Who is not known cannot choose an id: it would be taken from those who are.
  const given = principal.anonymous ? null : headers.get('x-run-id');
  const row: Omit<NewReservation, 'engine_id' | 'run_id'> = {
    workflow_id: workflow.id,
    workspace_id: workflow.workspace_id,
    trigger: isManual(body) ? 'manual' : 'api',
    mode: modeOf(body),
    created_at: new Date(services.now()).toISOString(),
  };
  if (given !== null && (await isUnclaimedRun(services, workflow, given))) throw runIdConflict(given);
  for (let tries = 1; tries <= MOST_CLAIMS; tries += 1) {
    const engineId = randomUUID();
    const runId = given ?? engineId;
    if (await reserved(services, { ...row, engine_id: engineId, run_id: runId })) return { engineId, runId };
    if (given !== null) throw runIdConflict(given);
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
  return owner?.workspace_id === workspace_id && (await store.reservations.find(runId)) === undefined;
}

async function reserved({ store, report }: Services, row: NewReservation): Promise<boolean> {
  try {
    return await store.reservations.reserve(row);
  } catch (error) {
    report(error);
    throw unavailable();
  }
}

/** 409 for an id that has been used. */
export function runIdConflict(runId: string): ApiError {
  return new ApiError(409, 'Run ID has already been used', {
    details: { code: 'RUN_ID_CONFLICT', runId },
    headers: { 'X-Run-Id': runId },
  });
}

/** How the caller learns what has come of the run. */
export function modeOf(body: ExecuteBody): ReservationRow['mode'] {
  if (body.async) return 'async';
  return body.stream ? 'stream' : 'sync';
}
