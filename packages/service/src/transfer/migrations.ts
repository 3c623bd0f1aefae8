import type { Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

async function createReceipts({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('operation_receipts')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('workspace_id', 'text', (column) => column.notNull().references('workspaces.id'))
    .addColumn('request_id', 'text', (column) => column.notNull())
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('request_hash', 'text', (column) => column.notNull())
    .addColumn('report', 'text', (column) => column.notNull())
    .addColumn('result', 'text', (column) => column.notNull())
    .addColumn('created_at', 'text', (column) => column.notNull())
    .addUniqueConstraint('operation_receipts_request', ['workspace_id', 'request_id'])
    .execute();
  await schema
    .createIndex('operation_receipts_newest')
    .on('operation_receipts')
    .columns(['workspace_id', 'created_at', 'id'])
    .execute();
}

/** Adds the index for finding old receipts. */
async function addAgeIndex({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createIndex('operation_receipts_oldest')
    .on('operation_receipts')
    .column('created_at')
    .execute();
}

/** The migrations of the table of receipts. Entries are added, never changed. */
export const TRANSFER_MIGRATIONS: Readonly<Record<string, Migration>> = {
  '0001': { up: (db: Kysely<unknown>) => createReceipts(db) },
  '0002': { up: (db: Kysely<unknown>) => addAgeIndex(db) },
};
