import type { Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

async function addUpdatedAtAndMemberIndex({ schema }: Kysely<unknown>): Promise<void> {
  await schema.alterTable('workspaces').addColumn('updated_at', 'text').execute();
  await schema.createIndex('members_user').on('members').columns(['user_id', 'workspace_id']).execute();
}

/** Adds the index for the events of one run or workflow. */
async function addAuditResourceIndex({ schema }: Kysely<unknown>): Promise<void> {
  await schema
    .createIndex('audit_resource')
    .on('audit')
    .columns(['workspace_id', 'resource_id', 'created_at'])
    .execute();
}

/** The migrations of the module. Entries are added, never changed. */
export const WORKSPACE_MIGRATIONS: Readonly<Record<string, Migration>> = {
  '0001': { up: (db: Kysely<unknown>) => addUpdatedAtAndMemberIndex(db) },
  '0002': { up: (db: Kysely<unknown>) => addAuditResourceIndex(db) },
};
