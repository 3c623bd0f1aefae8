import type { Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

async function createTables({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('credentials')
    .addColumn('workspace_id', 'text', (column) => column.notNull().references('workspaces.id'))
    .addColumn('id', 'text', (column) => column.notNull())
    .addColumn('type', 'text', (column) => column.notNull())
    .addColumn('provider_id', 'text', (column) => column.notNull())
    .addColumn('display_name', 'text', (column) => column.notNull())
    .addColumn('description', 'text')
    .addColumn('account_id', 'text')
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('version', 'integer', (column) => column.notNull())
    .addColumn('key_id', 'text', (column) => column.notNull())
    .addColumn('sealed', 'text', (column) => column.notNull())
    .addColumn('refresh_owner', 'text')
    .addColumn('refresh_until', 'text')
    .addColumn('created_by', 'text')
    .addColumn('created_at', 'text', (column) => column.notNull())
    .addColumn('updated_at', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('credentials_key', ['workspace_id', 'id'])
    .addUniqueConstraint('credentials_name', ['workspace_id', 'display_name'])
    .execute();
  await schema
    .createIndex('credentials_provider')
    .on('credentials')
    .columns(['workspace_id', 'provider_id', 'type', 'created_at'])
    .execute();
  await schema.createIndex('credentials_key_id').on('credentials').column('key_id').execute();
}

/** The migrations of the table of credentials. Entries are added, never changed. */
export const CREDENTIAL_MIGRATIONS: Readonly<Record<string, Migration>> = {
  '0001': { up: (db: Kysely<unknown>) => createTables(db) },
};
