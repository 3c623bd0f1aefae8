import type { Engine, RunDetail } from '@heddle/engine';
import type { Principal } from '../../auth/principal.ts';
import { isRunNotFound } from '../../engine-errors.ts';
import { notFound } from '../../errors.ts';
import type { Services } from '../../services.ts';
import type { ReservationRow, WorkflowRow } from '../../store/schema.ts';
import type { RunIds } from './ids.ts';

/** A run as the engine has it, and the claim of its id; a run that waits to be started has the claim alone. */
export type FoundRun = RunIds &
  ({ run: RunDetail; claim: ReservationRow | undefined } | { run: undefined; claim: ReservationRow });

/** The run of the workflow. Throws 404, also for a run of another workflow. */
export async function findRun(
  { engine, store }: Services,
  { id, workspace_id }: WorkflowRow,
  runId: string,
): Promise<FoundRun> {
  // The claim is read first: a run that is started between the two looks is found then.
  const claim =
    (await store.reservations.findIn(workspace_id, runId)) ?? (await store.reservations.find(runId));
  if (claim && claim.workflow_id !== id) throw notFound('Run');
  const ids = claim ? { engineId: claim.engine_id, runId: claim.run_id } : { engineId: runId, runId };
  const run = await engineRun(engine, ids.engineId);
  if (!run && claim && isUnstarted(claim)) return { ...ids, run, claim };
  if (!run || run.workflowId !== id) throw notFound('Run');
  return { ...ids, run, claim };
}

/** The claim of the run that the caller may mean by an id without a workspace; undefined: none, or several. */
export async function findReservation(
  { store }: Pick<Services, 'store'>,
  { kind, workspaceId, userId }: Principal,
  runId: string,
): Promise<ReservationRow | undefined> {
  if (kind === 'workspace')
    return workspaceId === null ? undefined : store.reservations.findIn(workspaceId, runId);
  const [only, second] = userId === null ? [] : await store.reservations.findOf(userId, runId);
  return second ? undefined : only;
}

function isUnstarted({ waiting, failure }: ReservationRow): boolean {
  return waiting !== null || failure !== null;
}

/** The run that the engine knows by this id; undefined: there is none. */
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
