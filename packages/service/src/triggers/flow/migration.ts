import { sql } from 'kysely';
import type { Kysely } from 'kysely';

/** Adds the tables of flow control. */
export async function createFlowTables(db: Kysely<unknown>): Promise<void> {
  await createRunTables(db);
  await createEventTable(db);
}

async function createRunTables({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('flow_groups')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('last_seq', 'bigint', (column) => column.notNull())
    .addColumn('touched_ms', 'bigint', (column) => column.notNull())
    .execute();
  await schema
    .createTable('flow_runs')
    .addColumn('run_id', 'text', (column) => column.primaryKey())
    .addColumn('group_id', 'text', (column) => column.notNull())
    .addColumn('seq', 'bigint', (column) => column.notNull())
    .addColumn('workspace_id', 'text', (column) => column.notNull())
    .addColumn('workflow_id', 'text', (column) => column.notNull())
    .addColumn('block_id', 'text', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('reason', 'text')
    .addColumn('look_ms', 'bigint')
    .addColumn('until_ms', 'bigint')
    .addColumn('events', 'integer', (column) => column.notNull())
    .addColumn('bytes', 'bigint', (column) => column.notNull())
    .addColumn('attempts', 'integer', (column) => column.notNull())
    .addColumn('created_ms', 'bigint', (column) => column.notNull())
    .addColumn('started_ms', 'bigint')
    .addUniqueConstraint('flow_runs_order', ['group_id', 'seq'])
    .execute();
  await schema
    .createIndex('flow_runs_look')
    .on('flow_runs')
    .columns(['look_ms', 'run_id'])
    .where(sql.ref('look_ms'), 'is not', null)
    .execute();
  await schema.createIndex('flow_runs_state').on('flow_runs').columns(['group_id', 'state', 'seq']).execute();
  await schema.createIndex('flow_runs_started').on('flow_runs').columns(['group_id', 'started_ms']).execute();
  await schema.createIndex('flow_runs_age').on('flow_runs').columns(['state', 'created_ms']).execute();
}

async function createEventTable({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('flow_events')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('run_id', 'text', (column) => column.notNull())
    .addColumn('workspace_id', 'text', (column) => column.notNull())
    .addColumn('workflow_id', 'text', (column) => column.notNull())
    .addColumn('block_id', 'text', (column) => column.notNull())
    .addColumn('source', 'text', (column) => column.notNull())
    .addColumn('key', 'text', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('reason', 'text')
    .addColumn('position', 'integer')
    .addColumn('input', 'text')
    .addColumn('bytes', 'bigint', (column) => column.notNull())
    .addColumn('received_ms', 'bigint', (column) => column.notNull())
    .addColumn('decided_ms', 'bigint')
    .execute();
  await schema.createIndex('flow_events_run').on('flow_events').columns(['run_id', 'position']).execute();
  await schema
    .createIndex('flow_events_list')
    .on('flow_events')
    .columns(['workflow_id', 'block_id', 'received_ms', 'id'])
    .execute();
  await schema
    .createIndex('flow_events_waiting')
    .on('flow_events')
    .columns(['workspace_id', 'bytes'])
    .where(sql.ref('state'), '=', sql.lit('waiting'))
    .execute();
  await schema.createIndex('flow_events_age').on('flow_events').column('received_ms').execute();
}
