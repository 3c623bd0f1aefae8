import type * as z from 'zod';
import type * as schemas from '../schemas.ts';
import type { FlowDb } from './decide.ts';
import type { FlowEventRow } from './tables.ts';

/** An event with the reason why its run waits. */
type EventWithWaitReason = FlowEventRow & { wait_reason: string | null };

/** Selects events with the reasons why their runs wait. */
export function selectEvents(db: FlowDb) {
  return db
    .selectFrom('flow_events')
    .leftJoin('flow_runs', 'flow_runs.run_id', 'flow_events.run_id')
    .selectAll('flow_events')
    .select('flow_runs.reason as wait_reason');
}

/** Returns the event as the API represents it. */
export function eventView(row: EventWithWaitReason): z.output<typeof schemas.eventItem> {
  return {
    ...{ id: row.id, source: row.source, runId: row.run_id, ...flowDecisionOf(row) },
    receivedAt: timeOf(row.received_ms),
    decidedAt: row.decided_ms === null ? null : timeOf(row.decided_ms),
  };
}

/** Returns the decision of flow control about the event. */
export function flowDecisionOf({ key, state, reason, wait_reason: waitReason }: EventWithWaitReason): {
  key: string;
  state: FlowEventRow['state'];
  reason: string | null;
} {
  return { key, state, reason: state === 'waiting' ? (waitReason ?? reason) : reason };
}

/** Returns events with the decisions of flow control, by their ids. */
export async function findEvents(
  db: FlowDb,
  ids: readonly string[],
): Promise<ReadonlyMap<string, EventWithWaitReason>> {
  if (ids.length === 0) return new Map();
  const rows = await selectEvents(db).where('flow_events.id', 'in', ids).execute();
  return new Map(rows.map((row) => [row.id, row]));
}

/** Returns the time as ISO 8601. PostgreSQL returns milliseconds as strings. */
function timeOf(ms: number): string {
  return new Date(Number(ms)).toISOString();
}
