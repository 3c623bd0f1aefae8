import type { Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

async function createTables({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('skills')
    .addColumn('workspace_id', 'text', (column) => column.notNull().references('workspaces.id'))
    .addColumn('id', 'text', (column) => column.notNull())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('description', 'text', (column) => column.notNull())
    .addColumn('content', 'text', (column) => column.notNull())
    .addColumn('created_at', 'text', (column) => column.notNull())
    .addColumn('updated_at', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('skills_key', ['workspace_id', 'id'])
    .addUniqueConstraint('skills_name', ['workspace_id', 'name'])
    .execute();
  await schema
    .createTable('skill_editors')
    .addColumn('workspace_id', 'text', (column) => column.notNull())
    .addColumn('skill_id', 'text', (column) => column.notNull())
    .addColumn('user_id', 'text', (column) => column.notNull().references('users.id'))
    .addColumn('created_at', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('skill_editors_key', ['workspace_id', 'skill_id', 'user_id'])
    .addForeignKeyConstraint(
      'skill_editors_skill',
      ['workspace_id', 'skill_id'],
      'skills',
      ['workspace_id', 'id'],
      (constraint) => constraint.onDelete('cascade'),
    )
    .execute();
}

/** The migrations of the tables of skills. Entries are added, never changed. */
export const SKILL_MIGRATIONS: Readonly<Record<string, Migration>> = {
  '0001': { up: (db: Kysely<unknown>) => createTables(db) },
};
