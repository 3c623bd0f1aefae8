import type { Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

async function createTables({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('secrets')
    .addColumn('workspace_id', 'text', (column) => column.notNull().references('workspaces.id'))
    .addColumn('user_id', 'text', (column) => column.notNull())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('description', 'text')
    .addColumn('key_id', 'text', (column) => column.notNull())
    .addColumn('sealed', 'text', (column) => column.notNull())
    .addColumn('created_at', 'text', (column) => column.notNull())
    .addColumn('updated_at', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('secrets_key', ['workspace_id', 'user_id', 'name'])
    .execute();
  await schema.createIndex('secrets_key_id').on('secrets').column('key_id').execute();
}

/** The migrations of the table of secrets. Entries are added, never changed. */
export const SECRET_MIGRATIONS: Readonly<Record<string, Migration>> = {
  '0001': { up: (db: Kysely<unknown>) => createTables(db) },
};
