import type { AreaContext } from '@heddle/api';
import type { FlowDb } from './decide.ts';
import { markEndedRuns } from './ended-runs.ts';

/** Time for which decisions are stored: longer than the longest period of a throttle. */
const RETENTION_MS = 7 * 24 * 3_600_000;
/** Active runs that are older than this are checked, because the process that executed them may have died. */
const CHECK_AFTER_MS = 3_600_000;
/** Maximum number of rows in one statement. */
const BATCH_SIZE = 1000;

/** Deletes old decisions, and records which runs have ended. Several processes may call this at the same time. */
export async function sweepFlow(
  services: Pick<AreaContext, 'engine' | 'reservations'> & { db: FlowDb },
  nowMs: number,
): Promise<void> {
  const { db } = services;
  const activeRows = await db
    .selectFrom('flow_runs')
    .select('run_id')
    .where('state', '=', 'active')
    .where('created_ms', '<', nowMs - CHECK_AFTER_MS)
    .orderBy('created_ms')
    .limit(BATCH_SIZE)
    .execute();
  await markEndedRuns(
    services,
    activeRows.map(({ run_id: runId }) => runId),
  );
  const beforeMs = nowMs - RETENTION_MS;
  for (let deletedCount = BATCH_SIZE; deletedCount === BATCH_SIZE;) {
    const result = await db
      .deleteFrom('flow_events')
      .where('id', 'in', (eb) =>
        eb
          .selectFrom('flow_events')
          .select('id')
          .where('received_ms', '<', beforeMs)
          .where('state', '!=', 'waiting')
          .limit(BATCH_SIZE),
      )
      .executeTakeFirst();
    deletedCount = Number(result.numDeletedRows);
  }
  for (let deletedCount = BATCH_SIZE; deletedCount === BATCH_SIZE;) {
    const result = await db
      .deleteFrom('flow_runs')
      .where('run_id', 'in', (eb) =>
        eb
          .selectFrom('flow_runs')
          .select('run_id')
          .where('state', '=', 'ended')
          .where('created_ms', '<', beforeMs)
          .limit(BATCH_SIZE),
      )
      .executeTakeFirst();
    deletedCount = Number(result.numDeletedRows);
  }
  await db
    .deleteFrom('flow_groups')
    .where('touched_ms', '<', beforeMs)
    .where('id', 'not in', (eb) => eb.selectFrom('flow_runs').select('group_id'))
    .execute();
}
