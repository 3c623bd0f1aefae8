import type { Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

async function createTables({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('service_events')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('workspace_id', 'text', (column) => column.notNull())
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('workflow_id', 'text')
    .addColumn('subject_id', 'text')
    .addColumn('details', 'text')
    .addColumn('happened_ms', 'bigint', (column) => column.notNull())
    .addColumn('recorded_ms', 'bigint', (column) => column.notNull())
    .addColumn('look_ms', 'bigint', (column) => column.notNull())
    .addColumn('attempts', 'integer', (column) => column.notNull())
    .execute();
  await schema.createIndex('service_events_look').on('service_events').column('look_ms').execute();
  await schema
    .createTable('event_cooldowns')
    .addColumn('workflow_id', 'text', (column) => column.notNull())
    .addColumn('block_id', 'text', (column) => column.notNull())
    .addColumn('source_id', 'text', (column) => column.notNull())
    .addColumn('until_ms', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('event_cooldowns_key', ['workflow_id', 'block_id', 'source_id'])
    .execute();
  await schema.createIndex('event_cooldowns_until').on('event_cooldowns').column('until_ms').execute();
  await schema
    .createTable('event_watchers')
    .addColumn('workflow_id', 'text', (column) => column.primaryKey())
    .addColumn('workspace_id', 'text', (column) => column.notNull())
    .addColumn('since_ms', 'bigint', (column) => column.notNull())
    .execute();
  await schema.createIndex('event_watchers_workspace').on('event_watchers').column('workspace_id').execute();
}

/** The migrations of the tables of events. Entries are added, never changed. */
export const EVENT_MIGRATIONS: Readonly<Record<string, Migration>> = {
  '0001': { up: (db: Kysely<unknown>) => createTables(db) },
};
