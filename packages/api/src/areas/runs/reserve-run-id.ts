import { randomUUID } from 'node:crypto';
import type { Principal } from '../../auth/principal.ts';
import { runIdConflict, unavailable } from '../../errors.ts';
import type { Services } from '../../services.ts';
import type { ReservationRow, WorkflowRow } from '../../store/schema.ts';
import { engineRun } from './find.ts';
import type { RunIds } from './ids.ts';
import { isManual } from './rules.ts';
import type { ExecuteBody } from './schemas.ts';
import type { NewReservation } from './store.ts';

/** How often a generated id is tried before giving up. */
const MAX_ATTEMPTS = 3;

/** Reserves the ids of a new run in the workspace of the workflow. Throws 409, 503. */
export async function reserveRunId(
  services: Services,
  workflow: WorkflowRow,
  { headers, body, principal }: { headers: Headers; body: ExecuteBody; principal: Principal },
): Promise<RunIds> {
  // Anonymous callers cannot choose an id: they could take ids from the members of the workspace.
  const given = principal.anonymous ? null : headers.get('x-run-id');
  const row: Omit<NewReservation, 'engine_id' | 'run_id'> = {
    workflow_id: workflow.id,
    workspace_id: workflow.workspace_id,
    trigger: isManual(body) ? 'manual' : 'api',
    mode: modeOf(body),
    created_at: new Date(services.now()).toISOString(),
  };
  if (given !== null && (await isRunOfHost(services, workflow, given))) throw runIdConflict(given);
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
    const engineId = randomUUID();
    const runId = given ?? engineId;
    if (await reserve(services, { ...row, engine_id: engineId, run_id: runId })) return { engineId, runId };
    if (given !== null) throw runIdConflict(given);
  }
  throw unavailable();
}

/** True when the workspace has a run with this id that the host started in the engine, without a reservation. */
async function isRunOfHost(
  { engine, store }: Services,
  { workspace_id }: WorkflowRow,
  runId: string,
): Promise<boolean> {
  const run = await engineRun(engine, runId);
  const owner = run && (await store.workflows.find(run.workflowId));
  return owner?.workspace_id === workspace_id && (await store.reservations.find(runId)) === undefined;
}

async function reserve({ store, report }: Services, row: NewReservation): Promise<boolean> {
  try {
    return await store.reservations.reserve(row);
  } catch (error) {
    report(error);
    throw unavailable();
  }
}

/** Returns how the caller gets the result of the run. */
export function modeOf(body: ExecuteBody): ReservationRow['mode'] {
  if (body.async) return 'async';
  return body.stream ? 'stream' : 'sync';
}
