import { sql } from 'kysely';
import type { Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

/** Columns by which lists of workflows are sorted. */
const SORT_COLUMNS = ['position', 'name', 'created_at', 'updated_at'] as const;

async function createFolderTable({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('workflow_folders')
    .addColumn('workspace_id', 'text', (column) => column.notNull())
    .addColumn('path', 'text', (column) => column.notNull())
    .addColumn('parent_path', 'text', (column) => column.notNull())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('locked', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('created_at', 'text', (column) => column.notNull())
    .addColumn('updated_at', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('workflow_folders_key', ['workspace_id', 'path'])
    .execute();
  await schema
    .createIndex('workflow_folders_parent')
    .on('workflow_folders')
    .columns(['workspace_id', 'parent_path'])
    .execute();
}

/** Adds an index for each order, with the columns that filters read, so that lists do not read the long drafts. */
async function addListIndexes({ schema }: Kysely<unknown>): Promise<void> {
  for (const column of SORT_COLUMNS) {
    const filters = ['folder_path', 'active_version', ...(column === 'name' ? [] : ['name'])];
    await schema
      .createIndex(`workflows_by_${column}`)
      .on('workflows')
      .columns(['workspace_id', column, 'id', ...filters])
      .where(sql.ref('archived_at'), 'is', null)
      .execute();
  }
}

/** The migrations of the module. Entries are added, never changed. */
export const WORKFLOW_MIGRATIONS: Readonly<Record<string, Migration>> = {
  '0001': { up: (db: Kysely<unknown>) => createFolderTable(db) },
  '0002': { up: (db: Kysely<unknown>) => addListIndexes(db) },
};
