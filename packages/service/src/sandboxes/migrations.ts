import type { Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

async function createTables({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('sandboxes')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('workspace_id', 'text', (column) => column.notNull().references('workspaces.id'))
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('language', 'text', (column) => column.notNull())
    .addColumn('dependencies', 'text', (column) => column.notNull())
    .addColumn('cli_tools', 'text', (column) => column.notNull())
    .addColumn('system_packages', 'text', (column) => column.notNull())
    .addColumn('image_id', 'text')
    .addColumn('created_at', 'text', (column) => column.notNull())
    .addColumn('updated_at', 'text', (column) => column.notNull())
    .addUniqueConstraint('sandboxes_name', ['workspace_id', 'name'])
    .execute();
  await schema.createIndex('sandboxes_image').on('sandboxes').column('image_id').execute();
}

/** The migrations of the table of sandboxes. Entries are added, never changed. */
export const SANDBOX_MIGRATIONS: Readonly<Record<string, Migration>> = {
  '0001': { up: (db: Kysely<unknown>) => createTables(db) },
};
