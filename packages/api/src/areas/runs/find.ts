import type { Engine, RunDetail } from '@heddle/engine';
import type { Principal } from '../../auth/principal.ts';
import { isRunNotFound, notFound } from '../../errors.ts';
import type { Services } from '../../services.ts';
import type { ReservationRow, WorkflowRow } from '../../store/schema.ts';
import type { RunIds } from './ids.ts';

/** A run of the engine with the reservation of its id. A queued run has only the reservation. */
export type FoundRun = RunIds &
  (
    | { run: RunDetail; reservation: ReservationRow | undefined }
    | { run: undefined; reservation: ReservationRow }
  );

/** Returns the run. Throws 404, also for a run of another workflow. */
export async function findRun(
  { engine, store }: Services,
  { id, workspace_id }: WorkflowRow,
  runId: string,
): Promise<FoundRun> {
  // The reservation is read first: if the run starts between the two reads, the engine has it.
  const reservation =
    (await store.reservations.findIn(workspace_id, runId)) ?? (await store.reservations.find(runId));
  if (reservation && reservation.workflow_id !== id) throw notFound('Run');
  const ids = reservation
    ? { engineId: reservation.engine_id, runId: reservation.run_id }
    : { engineId: runId, runId };
  const run = await engineRun(engine, ids.engineId);
  if (!run && reservation && isUnstarted(reservation)) return { ...ids, run, reservation };
  if (!run || run.workflowId !== id) throw notFound('Run');
  return { ...ids, run, reservation };
}

/**
 * Returns the reservation of a run id that came without a workspace; undefined when the caller's workspaces have none or
 * several.
 */
export async function findReservation(
  { store }: Pick<Services, 'store'>,
  { kind, workspaceId, userId }: Principal,
  runId: string,
): Promise<ReservationRow | undefined> {
  const { reservations } = store;
  if (kind === 'workspace') return workspaceId === null ? undefined : reservations.findIn(workspaceId, runId);
  const [only, second] = userId === null ? [] : await reservations.findOf(userId, runId);
  return second ? undefined : only;
}

function isUnstarted({ waiting, failure }: ReservationRow): boolean {
  return waiting !== null || failure !== null;
}

/** Returns the engine's run with this id; undefined when there is none. */
export async function engineRun(
  engine: Pick<Engine, 'getRun'>,
  engineId: string,
): Promise<RunDetail | undefined> {
  try {
    return await engine.getRun(engineId);
  } catch (error) {
    if (isRunNotFound(error)) return undefined;
    throw error;
  }
}
