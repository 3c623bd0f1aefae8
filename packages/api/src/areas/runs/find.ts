import type { Engine, RunDetail } from '@heddle/engine';
import type { Principal } from '../../auth/principal.ts';
import { workspaceIdsOf } from '../../auth/authorize.ts';
import { isRunNotFound, notFound } from '../../errors.ts';
import type { AreaContext } from '../../context.ts';
import type { Definition, Reservation } from '../../ports.ts';
import type { RunIds } from './ids.ts';

/** A run of the engine with the reservation of its id. A queued run has only the reservation. */
export type FoundRun = RunIds &
  ({ run: RunDetail; reservation: Reservation | undefined } | { run: undefined; reservation: Reservation });

/** Returns the run. Throws 404, also for a run of another workflow. */
export async function findRun(
  { engine, reservations }: AreaContext,
  { id, workspaceId }: Definition,
  runId: string,
): Promise<FoundRun> {
  // The reservation is read first: if the run starts between the two reads, the engine has it.
  const reservation =
    (await reservations.findByRunId(runId, [workspaceId]))[0] ??
    (await reservations.findByEngineRunIds([runId])).get(runId);
  if (reservation && reservation.workflowId !== id) throw notFound('Run');
  const ids = reservation
    ? { engineRunId: reservation.engineRunId, runId: reservation.runId }
    : { engineRunId: runId, runId };
  const run = await findEngineRun(engine, ids.engineRunId);
  if (!run && reservation && isUnstarted(reservation)) return { ...ids, run, reservation };
  if (!run || run.workflowId !== id) throw notFound('Run');
  return { ...ids, run, reservation };
}

/**
 * Returns the reservation of a run id in a request that names no workspace; undefined unless exactly one of the
 * caller's workspaces has such a reservation.
 */
export async function findReservation(
  context: Pick<AreaContext, 'access' | 'reservations'>,
  principal: Principal,
  runId: string,
): Promise<Reservation | undefined> {
  const workspaceIds = await workspaceIdsOf(context, principal);
  const [first, second] = await context.reservations.findByRunId(runId, workspaceIds);
  return second ? undefined : first;
}

function isUnstarted({ isQueued, failure }: Reservation): boolean {
  return isQueued || failure !== undefined;
}

/** Returns the engine's run with this id; undefined when there is none. */
export async function findEngineRun(
  engine: Pick<Engine, 'getRun'>,
  engineRunId: string,
): Promise<RunDetail | undefined> {
  try {
    return await engine.getRun(engineRunId);
  } catch (error) {
    if (isRunNotFound(error)) return undefined;
    throw error;
  }
}
