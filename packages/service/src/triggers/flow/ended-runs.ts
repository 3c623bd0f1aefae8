import { ApiError } from '@heddle/api';
import type { AreaContext } from '@heddle/api';
import { stateOfRun } from '../run-state.ts';
import { groupIdOf } from './decide.ts';
import type { FlowDb, FlowEvent } from './decide.ts';

/** Maximum number of waiting events of a workspace. */
const MAX_WAITING_EVENTS = 20_000;
/** Maximum number of bytes of the inputs of these events. */
const MAX_WAITING_BYTES = 256 * 1024 * 1024;
const TOO_MANY_EVENTS_MESSAGE =
  'Too many events wait for the flow control of this workspace. Please retry later.';
const RETRY_AFTER_SECONDS = 30;

type Services = Pick<AreaContext, 'engine' | 'reservations'> & { db: FlowDb };

/**
 * Prepares the decision about an event, before its transaction. Throws 429 if too many events of the workspace wait, so
 * that the sender retries later.
 */
export async function prepareEvent(services: Services, event: FlowEvent): Promise<void> {
  const { count, bytes } = await services.db
    .selectFrom('flow_events')
    .select((eb) => [eb.fn.countAll().as('count'), eb.fn.sum('bytes').as('bytes')])
    .where('workspace_id', '=', event.workspaceId)
    .where('state', '=', 'waiting')
    .executeTakeFirstOrThrow();
  if (Number(count) >= MAX_WAITING_EVENTS || Number(bytes ?? 0) >= MAX_WAITING_BYTES)
    throw new ApiError(429, TOO_MANY_EVENTS_MESSAGE, {
      headers: { 'Retry-After': String(RETRY_AFTER_SECONDS) },
    });
  if (event.policy.singleton !== undefined) await markEndedRunsOfGroup(services, groupIdOf(event));
}

/** Records which runs of a group have ended. Returns the ids of the runs that are still active. */
export async function markEndedRunsOfGroup(services: Services, groupId: string): Promise<string[]> {
  const activeRows = await services.db
    .selectFrom('flow_runs')
    .select('run_id')
    .where('group_id', '=', groupId)
    .where('state', '=', 'active')
    .execute();
  return markEndedRuns(
    services,
    activeRows.map(({ run_id: runId }) => runId),
  );
}

/** Records which of the runs have ended. Returns the ids of the runs that are still active. */
export async function markEndedRuns(services: Services, runIds: readonly string[]): Promise<string[]> {
  const states = await Promise.all(
    runIds.map(async (runId) => ({ runId, ...(await stateOfRun(services, runId)) })),
  );
  const endedRunIds = states.filter(({ isInProgress }) => !isInProgress).map(({ runId }) => runId);
  if (endedRunIds.length > 0)
    await services.db
      .updateTable('flow_runs')
      .set({ state: 'ended' })
      .where('run_id', 'in', endedRunIds)
      .where('state', '=', 'active')
      .execute();
  return states.filter(({ isInProgress }) => isInProgress).map(({ runId }) => runId);
}
