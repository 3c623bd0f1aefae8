import { sql } from 'kysely';
import type { Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

/** Columns that filters read: with them in the index, a list reads the rows of its page only. */
const FILTERED: readonly string[] = [
  'started_ms',
  'workflow_id',
  'status',
  'level',
  'trigger',
  'duration_ms',
  'cost',
];

/** The columns of the index for one sort order. */
function sorted(by: string): string[] {
  return ['workspace_id', by, 'engine_id', ...FILTERED.filter((column) => column !== by)];
}

async function initial({ schema }: Kysely<unknown>): Promise<void> {
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
  const index = (name: string, columns: readonly string[]) =>
    schema
      .createIndex(name)
      .on('run_logs')
      .columns([...columns]);
  await index('run_logs_run', ['workspace_id', 'run_id']).execute();
  await index('run_logs_started', sorted('started_ms')).execute();
  await index('run_logs_duration', sorted('duration_ms')).execute();
  await index('run_logs_cost', sorted('cost')).execute();
  await index('run_logs_status', sorted('status')).execute();
  await index('run_logs_workflow', ['workflow_id', 'started_ms', 'engine_id']).execute();
  await index('run_logs_ended', ['ended_ms', 'engine_id'])
    .where(sql.ref('is_child'), '=', sql.lit(0))
    .execute();
  await index('run_logs_bytes', ['bytes', 'ended_ms']).execute();
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

/** The migrations of the area. Entries are added, never changed. */
export const LOG_MIGRATIONS: Readonly<Record<string, Migration>> = {
  '0001': { up: (db: Kysely<unknown>) => initial(db) },
};
