import { sql } from 'kysely';
import type { Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';
import { isPostgres } from '../store/dialect.ts';

/** Columns that filters read: with them in the index, a list reads the rows of its page only. */
const FILTER_COLUMNS: readonly string[] = [
  'started_ms',
  'workflow_id',
  'status',
  'level',
  'trigger',
  'duration_ms',
  'cost',
];

/** Returns the columns of the index for lists that are sorted by a column. */
function sortIndexColumns(sortColumn: string): string[] {
  const otherColumns = FILTER_COLUMNS.filter((column) => column !== sortColumn);
  return ['workspace_id', sortColumn, 'engine_id', ...otherColumns];
}

async function createTables({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('run_logs')
    .addColumn('engine_id', 'text', (column) => column.primaryKey())
    .addColumn('run_id', 'text', (column) => column.notNull())
    .addColumn('workspace_id', 'text', (column) => column.notNull())
    .addColumn('workflow_id', 'text', (column) => column.notNull())
    .addColumn('version', 'integer')
    .addColumn('status', 'text', (column) => column.notNull())
    .addColumn('level', 'text', (column) => column.notNull())
    .addColumn('trigger', 'text', (column) => column.notNull())
    .addColumn('started_ms', 'bigint', (column) => column.notNull())
    .addColumn('ended_ms', 'bigint')
    .addColumn('duration_ms', 'bigint', (column) => column.notNull())
    .addColumn('cost', 'double precision', (column) => column.notNull())
    .addColumn('bytes', 'bigint', (column) => column.notNull())
    .addColumn('is_child', 'integer', (column) => column.notNull())
    .addColumn('seq', 'bigint', (column) => column.notNull())
    .execute();
  const createIndex = (name: string, columns: readonly string[]) =>
    schema
      .createIndex(name)
      .on('run_logs')
      .columns([...columns]);
  await createIndex('run_logs_run', ['workspace_id', 'run_id']).execute();
  await createIndex('run_logs_started', sortIndexColumns('started_ms')).execute();
  await createIndex('run_logs_duration', sortIndexColumns('duration_ms')).execute();
  await createIndex('run_logs_cost', sortIndexColumns('cost')).execute();
  await createIndex('run_logs_status', sortIndexColumns('status')).execute();
  await createIndex('run_logs_workflow', ['workflow_id', 'started_ms', 'engine_id']).execute();
  await createIndex('run_logs_ended', ['ended_ms', 'engine_id'])
    .where(sql.ref('is_child'), '=', sql.lit(0))
    .execute();
  await createIndex('run_logs_bytes', ['bytes', 'ended_ms']).execute();
  await schema
    .createTable('run_log_models')
    .addColumn('engine_id', 'text', (column) => column.notNull())
    .addColumn('model', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('run_log_models_key', ['engine_id', 'model'])
    .execute();
  await schema
    .createTable('leases')
    .addColumn('name', 'text', (column) => column.primaryKey())
    .addColumn('owner', 'text', (column) => column.notNull())
    .addColumn('expires_ms', 'bigint', (column) => column.notNull())
    .execute();
}

/** The database triggers that counted reservations, each with its table. */
const OLD_TRIGGERS = [
  ['run_counts_reserved', 'claims'],
  ['run_counts_released', 'claims'],
] as const;

/**
 * Changes what `run_counts` counts: runs, when they end, instead of reservations, which database triggers counted. The
 * reservation of a run that has begun remains counted, and the run is not counted again when it ends. Reservations of
 * queued runs are subtracted.
 */
async function countEndedRuns(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable('run_logs')
    .addColumn('counted', 'integer', (column) => column.notNull().defaultTo(0))
    .execute();
  for (const [name, table] of OLD_TRIGGERS) {
    if (!isPostgres(db)) await sql`drop trigger ${sql.ref(name)}`.execute(db);
    else {
      await sql`drop trigger ${sql.ref(name)} on ${sql.table(table)}`.execute(db);
      await sql`drop function ${sql.ref(name)}()`.execute(db);
    }
  }
  const hasReservation = sql`exists (select 1 from claims where claims.engine_id = run_logs.engine_id)`;
  await sql`
    update run_counts set
      runs = runs
        - (select count(*) from claims where claims.workflow_id = run_counts.workflow_id and waiting is not null
            and not exists (select 1 from run_logs where run_logs.engine_id = claims.engine_id))
        + (select count(*) from run_logs where run_logs.workflow_id = run_counts.workflow_id
            and ended_ms is not null and not ${hasReservation})`.execute(db);
  await sql`update run_logs set counted = 1 where ended_ms is not null or ${hasReservation}`.execute(db);
}

/** Adds the totals for statistics. Runs that have already ended are added in the background. */
async function createTotals(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable('run_logs')
    .addColumn('totalled', 'integer', (column) => column.notNull().defaultTo(0))
    .execute();
  await db.schema
    .createIndex('run_logs_untotalled')
    .on('run_logs')
    .columns(['workspace_id', 'started_ms'])
    .where(sql.ref('totalled'), '=', sql.lit(0))
    .execute();
  await db.schema
    .createTable('run_totals')
    .addColumn('workspace_id', 'text', (column) => column.notNull())
    .addColumn('width_ms', 'bigint', (column) => column.notNull())
    .addColumn('start_ms', 'bigint', (column) => column.notNull())
    .addColumn('workflow_id', 'text', (column) => column.notNull())
    .addColumn('trigger', 'text', (column) => column.notNull())
    .addColumn('level', 'text', (column) => column.notNull())
    .addColumn('runs', 'bigint', (column) => column.notNull())
    .addColumn('duration_ms', 'bigint', (column) => column.notNull())
    .addColumn('timed', 'bigint', (column) => column.notNull())
    .addColumn('cost_micros', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('run_totals_key', [
      'workspace_id',
      'width_ms',
      'start_ms',
      'workflow_id',
      'trigger',
      'level',
    ])
    // Without row ids, SQLite stores the rows in the index of their primary key.
    .$call((table) => (isPostgres(db) ? table : table.modifyEnd(sql`without rowid`)))
    .execute();
  await db.schema
    .createIndex('run_totals_empty')
    .on('run_totals')
    .column('workspace_id')
    .where(sql.ref('runs'), '=', sql.lit(0))
    .execute();
}

/** The migrations of the tables of the log. Entries are added, never changed. */
export const LOG_MIGRATIONS: Readonly<Record<string, Migration>> = {
  '0001': { up: (db: Kysely<unknown>) => createTables(db) },
  '0002': { up: (db: Kysely<unknown>) => countEndedRuns(db) },
  '0003': { up: (db: Kysely<unknown>) => createTotals(db) },
};
