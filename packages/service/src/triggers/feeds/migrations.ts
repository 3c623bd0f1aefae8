import type { Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

async function createTables({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('feed_cursors')
    .addColumn('workflow_id', 'text', (column) => column.notNull())
    .addColumn('block_id', 'text', (column) => column.notNull())
    .addColumn('source', 'text', (column) => column.notNull())
    .addColumn('cursor', 'text', (column) => column.notNull())
    .addColumn('polled_ms', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('feed_cursors_key', ['workflow_id', 'block_id'])
    .execute();
  await schema
    .createTable('feed_items')
    .addColumn('workflow_id', 'text', (column) => column.notNull())
    .addColumn('block_id', 'text', (column) => column.notNull())
    .addColumn('item', 'text', (column) => column.notNull())
    .addColumn('run_id', 'text')
    .addColumn('seen_ms', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('feed_items_key', ['workflow_id', 'block_id', 'item'])
    .execute();
  await schema
    .createIndex('feed_items_seen')
    .on('feed_items')
    .columns(['workflow_id', 'block_id', 'seen_ms'])
    .execute();
}

/** The migrations of the tables of feeds. Entries are added, never changed. */
export const FEED_MIGRATIONS: Readonly<Record<string, Migration>> = {
  '0001': { up: (db: Kysely<unknown>) => createTables(db) },
};
