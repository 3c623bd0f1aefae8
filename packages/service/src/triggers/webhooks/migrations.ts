import { sql } from 'kysely';
import type { Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

async function createTables({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('webhook_paths')
    .addColumn('path', 'text', (column) => column.primaryKey())
    .addColumn('workspace_id', 'text', (column) => column.notNull())
    .addColumn('workflow_id', 'text', (column) => column.notNull())
    .addColumn('block_id', 'text', (column) => column.notNull())
    .addColumn('is_current', 'integer', (column) => column.notNull())
    .execute();
  await schema
    .createIndex('webhook_paths_block')
    .on('webhook_paths')
    .columns(['workflow_id', 'block_id'])
    .execute();
  await schema
    .createTable('webhook_deliveries')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('workspace_id', 'text', (column) => column.notNull())
    .addColumn('workflow_id', 'text', (column) => column.notNull())
    .addColumn('block_id', 'text', (column) => column.notNull())
    .addColumn('delivery_id', 'text')
    .addColumn('event', 'text')
    .addColumn('run_id', 'text', (column) => column.notNull())
    .addColumn('version', 'integer', (column) => column.notNull())
    .addColumn('method', 'text', (column) => column.notNull())
    .addColumn('content_type', 'text', (column) => column.notNull())
    .addColumn('bytes', 'integer', (column) => column.notNull())
    .addColumn('received_ms', 'bigint', (column) => column.notNull())
    .addColumn('duplicates', 'integer', (column) => column.notNull())
    .addColumn('last_duplicate_ms', 'bigint')
    .addColumn('replay_of', 'text')
    .execute();
  await schema
    .createIndex('webhook_deliveries_once')
    .unique()
    .on('webhook_deliveries')
    .columns(['workflow_id', 'block_id', 'delivery_id'])
    .where(sql.ref('delivery_id'), 'is not', null)
    .execute();
  await schema
    .createIndex('webhook_deliveries_list')
    .on('webhook_deliveries')
    .columns(['workflow_id', 'block_id', 'received_ms', 'id'])
    .execute();
  await schema.createIndex('webhook_deliveries_age').on('webhook_deliveries').column('received_ms').execute();
  await schema
    .createTable('webhook_refusals')
    .addColumn('workflow_id', 'text', (column) => column.notNull())
    .addColumn('block_id', 'text', (column) => column.notNull())
    .addColumn('reason', 'text', (column) => column.notNull())
    .addColumn('count', 'integer', (column) => column.notNull())
    .addColumn('first_ms', 'bigint', (column) => column.notNull())
    .addColumn('last_ms', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('webhook_refusals_key', ['workflow_id', 'block_id', 'reason'])
    .execute();
}

/** The migrations of the module. Entries are added, never changed. */
export const WEBHOOK_MIGRATIONS: Readonly<Record<string, Migration>> = {
  '0001': { up: (db: Kysely<unknown>) => createTables(db) },
};
