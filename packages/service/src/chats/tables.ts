import type { Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';
import type { VersionRow, WorkflowRow } from '../store/schema.ts';

/** The chat deployment of a workflow. */
export interface ChatRow {
  id: string;
  workspace_id: string;
  workflow_id: string;
  identifier: string;
  title: string;
  description: string | null;
  welcome_message: string | null;
  /** JSON array of `chat` and `form`. */
  pages: string;
  /** Null: the pages need no password. */
  password_hash: string | null;
  /** JSON array of selectors. */
  outputs: string;
  /** ISO 8601. */
  created_at: string;
  updated_at: string;
}

/**
 * An identifier remains reserved for its workspace after its deployment is removed, because links to it may still be
 * used.
 */
export interface IdentifierRow {
  identifier: string;
  workspace_id: string;
}

export interface ChatTables {
  chats: ChatRow;
  chat_identifiers: IdentifierRow;
  workflows: WorkflowRow;
  workflow_versions: VersionRow;
}

export type Db = Kysely<ChatTables>;

async function createTables({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createTable('chats')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('workspace_id', 'text', (column) => column.notNull())
    .addColumn('workflow_id', 'text', (column) => column.notNull().unique())
    .addColumn('identifier', 'text', (column) => column.notNull().unique())
    .addColumn('title', 'text', (column) => column.notNull())
    .addColumn('description', 'text')
    .addColumn('welcome_message', 'text')
    .addColumn('pages', 'text', (column) => column.notNull())
    .addColumn('password_hash', 'text')
    .addColumn('outputs', 'text', (column) => column.notNull())
    .addColumn('created_at', 'text', (column) => column.notNull())
    .addColumn('updated_at', 'text', (column) => column.notNull())
    .execute();
  await schema.createIndex('chats_list').on('chats').columns(['workspace_id', 'id']).execute();
  await schema
    .createTable('chat_identifiers')
    .addColumn('identifier', 'text', (column) => column.primaryKey())
    .addColumn('workspace_id', 'text', (column) => column.notNull())
    .execute();
}

/** The migrations of the area. Migrations are added, never changed. */
export const CHAT_MIGRATIONS: Readonly<Record<string, Migration>> = {
  '0001': { up: (db: Kysely<unknown>) => createTables(db) },
};
