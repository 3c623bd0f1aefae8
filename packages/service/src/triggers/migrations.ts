import { sql } from 'kysely';
import type { Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';
import { createFlowTables } from './flow/migration.ts';
import { addRegistrationProviders, createRegistrationTable } from './registrations/migration.ts';

async function createTables({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('triggers')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('workspace_id', 'text', (column) => column.notNull())
    .addColumn('workflow_id', 'text', (column) => column.notNull())
    .addColumn('block_id', 'text', (column) => column.notNull())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('type', 'text', (column) => column.notNull())
    .addColumn('config', 'text', (column) => column.notNull())
    .addColumn('version', 'integer')
    .addColumn('engine_version', 'integer')
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('due_ms', 'bigint')
    .addColumn('fire_ms', 'bigint')
    .addColumn('held', 'text')
    .addColumn('attempts', 'integer', (column) => column.notNull())
    .addColumn('last_run_id', 'text')
    .addColumn('last_due_ms', 'bigint')
    .addColumn('last_fired_ms', 'bigint')
    .addColumn('last_check_ms', 'bigint')
    .addColumn('last_error', 'text')
    .addColumn('failures', 'integer', (column) => column.notNull())
    .addColumn('failing_since_ms', 'bigint')
    .addColumn('created_ms', 'bigint', (column) => column.notNull())
    .addUniqueConstraint('triggers_block', ['workflow_id', 'block_id'])
    .execute();
  await schema
    .createIndex('triggers_due')
    .on('triggers')
    .columns(['fire_ms', 'id'])
    .where(sql.ref('fire_ms'), 'is not', null)
    .execute();
  await schema
    .createIndex('triggers_list')
    .on('triggers')
    .columns(['workspace_id', 'id'])
    .where(sql.ref('version'), 'is not', null)
    .execute();
  await schema
    .createTable('trigger_fires')
    .addColumn('workflow_id', 'text', (column) => column.notNull())
    .addColumn('block_id', 'text', (column) => column.notNull())
    .addColumn('due_ms', 'bigint', (column) => column.notNull())
    .addColumn('run_id', 'text', (column) => column.notNull())
    .addColumn('version', 'integer', (column) => column.notNull())
    .addColumn('claimed_ms', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('trigger_fires_key', ['workflow_id', 'block_id', 'due_ms'])
    .execute();
}

/** The migrations of the module. Entries are added, never changed. */
export const TRIGGER_MIGRATIONS: Readonly<Record<string, Migration>> = {
  '0001': { up: (db: Kysely<unknown>) => createTables(db) },
  '0002': { up: (db: Kysely<unknown>) => createFlowTables(db) },
  '0003': { up: (db: Kysely<unknown>) => createRegistrationTable(db) },
  '0004': { up: (db: Kysely<unknown>) => addRegistrationProviders(db) },
};
