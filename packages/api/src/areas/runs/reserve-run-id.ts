import { v7 as createRunId } from 'uuid';
import type { Principal } from '../../auth/principal.ts';
import { runIdConflict, unavailable } from '../../errors.ts';
import type { AreaContext } from '../../context.ts';
import type { Definition, NewReservation } from '../../ports.ts';
import { findEngineRun } from './find.ts';
import type { RunIds } from './ids.ts';
import { isManual } from './rules.ts';
import type { ExecuteBody } from './schemas.ts';
import type { PageTrigger } from './start.ts';

/** Maximum number of attempts to reserve a generated id. */
const MAX_ATTEMPTS = 3;

interface ReservingCall {
  headers: Headers;
  body: ExecuteBody;
  principal: Principal;
  page?: PageTrigger;
}

/** Reserves the ids of a new run in the workspace of the workflow. Throws 409, 503. */
export async function reserveRunId(
  services: AreaContext,
  workflow: Definition,
  { headers, body, principal, page }: ReservingCall,
): Promise<RunIds> {
  // Anonymous callers cannot choose an id: they could take ids from the members of the workspace.
  const requestedRunId = principal.anonymous ? null : headers.get('x-run-id');
  const reservation: Omit<NewReservation, 'engineRunId' | 'runId'> = {
    workflowId: workflow.id,
    workspaceId: workflow.workspaceId,
    trigger: page ?? (isManual(body) ? 'manual' : 'api'),
    mode: modeOf(body),
    createdAt: new Date(services.now()).toISOString(),
  };
  if (requestedRunId !== null && (await isRunOfHost(services, workflow, requestedRunId)))
    throw runIdConflict(requestedRunId);
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
    const engineRunId = createRunId();
    const runId = requestedRunId ?? engineRunId;
    if (await reserve(services, { ...reservation, engineRunId, runId })) return { engineRunId, runId };
    if (requestedRunId !== null) throw runIdConflict(requestedRunId);
  }
  throw unavailable();
}

/** Returns true if the workspace has a run with this id that the host started in the engine, without a reservation. */
async function isRunOfHost(
  { engine, definitions, reservations }: AreaContext,
  { workspaceId }: Definition,
  runId: string,
): Promise<boolean> {
  const run = await findEngineRun(engine, runId);
  const workflow = run && (await definitions.find(run.workflowId));
  return (
    workflow?.workspaceId === workspaceId && !(await reservations.findByEngineRunIds([runId])).has(runId)
  );
}

async function reserve(
  { reservations, onError }: AreaContext,
  reservation: NewReservation,
): Promise<boolean> {
  try {
    return await reservations.reserve(reservation);
  } catch (error) {
    onError(error);
    throw unavailable();
  }
}

/** Returns how the caller gets the result of the run. */
export function modeOf(body: ExecuteBody): NewReservation['mode'] {
  if (body.async) return 'async';
  return body.stream ? 'stream' : 'sync';
}
