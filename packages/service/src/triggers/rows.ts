import { sql } from 'kysely';
import type { AliasedRawBuilder, Kysely } from 'kysely';
import type { TriggerRow, TriggerTables } from './tables.ts';

const TIME_COLUMNS = [
  'due_ms',
  'fire_ms',
  'last_due_ms',
  'last_fired_ms',
  'last_check_ms',
  'failing_since_ms',
] as const satisfies (keyof TriggerRow)[];

/** Returns the row with its times as numbers: PostgreSQL returns them as strings. */
export function withNumericTimes(row: TriggerRow): TriggerRow {
  const times = TIME_COLUMNS.map((name) => [name, row[name] === null ? null : Number(row[name])] as const);
  return { ...row, ...Object.fromEntries(times), created_ms: Number(row.created_ms) };
}

/** Selects the position of a row among the rows of its workspace, as `turn`. Sorting by it interleaves workspaces. */
export function workspaceRank(...columns: readonly [string, string]): AliasedRawBuilder<number, 'turn'> {
  const order = sql.join(columns.map((column) => sql.ref(column)));
  return sql<number>`row_number() over (partition by workspace_id order by ${order})`.as('turn');
}

/**
 * Selects the triggers of a workflow and locks them until the transaction ends. It is an update without a change,
 * because SQLite has no `select for update`.
 */
export function lockTriggers(db: Kysely<TriggerTables>, workflowId: string) {
  return db
    .updateTable('triggers')
    .set((eb) => ({ attempts: eb.ref('attempts') }))
    .where('workflow_id', '=', workflowId)
    .returningAll();
}
