import { sql } from 'kysely';
import type { Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';
import { isPostgres } from './dialect.ts';

/** The migrations, for SQLite and PostgreSQL. Entries are added, never changed. */
export const MIGRATIONS: Readonly<Record<string, Migration>> = {
  '0001': { up: (db: Kysely<unknown>) => createInitialTables(db) },
  '0002': { up: (db: Kysely<unknown>) => addPublicColumn(db) },
  '0003': { up: (db: Kysely<unknown>) => scopeRunIdsToWorkspaces(db) },
  '0004': { up: (db: Kysely<unknown>) => createPublicRuns(db) },
  '0005': { up: (db: Kysely<unknown>) => createRunCounts(db) },
  '0006': { up: (db: Kysely<unknown>) => addOutcomeColumn(db) },
  '0007': { up: (db: Kysely<unknown>) => addHeldColumn(db) },
};

async function createInitialTables(db: Kysely<unknown>): Promise<void> {
  await createWorkspaceTables(db);
  await createWorkflowTables(db);
  await createRunTables(db);
}

async function createWorkspaceTables(db: Kysely<unknown>): Promise<void> {
  const { schema } = db;
  await schema
    .createTable('users')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('email', 'text', (column) => column.notNull().unique())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('created_at', 'text', (column) => column.notNull())
    .execute();
  await schema
    .createTable('workspaces')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('personal_keys', 'integer', (column) => column.notNull())
    .addColumn('created_at', 'text', (column) => column.notNull())
    .execute();
  await schema
    .createTable('members')
    .addColumn('workspace_id', 'text', (column) => column.notNull().references('workspaces.id'))
    .addColumn('user_id', 'text', (column) => column.notNull().references('users.id'))
    .addColumn('role', 'text', (column) => column.notNull())
    .addColumn('created_at', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('members_key', ['workspace_id', 'user_id'])
    .execute();
  await schema
    .createTable('api_keys')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('user_id', 'text', (column) => column.references('users.id'))
    .addColumn('workspace_id', 'text', (column) => column.references('workspaces.id'))
    .addColumn('hash', 'text', (column) => column.notNull().unique())
    .addColumn('hint', 'text', (column) => column.notNull())
    .addColumn('created_at', 'text', (column) => column.notNull())
    .addColumn('expires_at', 'text')
    .addColumn('last_used_at', 'text')
    .addColumn('revoked_at', 'text')
    .execute();
}

async function createWorkflowTables(db: Kysely<unknown>): Promise<void> {
  const { schema } = db;
  await schema
    .createTable('workflows')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('workspace_id', 'text', (column) => column.notNull().references('workspaces.id'))
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('description', 'text')
    .addColumn('folder_path', 'text', (column) => column.notNull())
    .addColumn('position', 'integer', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('active_version', 'integer')
    .addColumn('deployed_at', 'text')
    .addColumn('created_at', 'text', (column) => column.notNull())
    .addColumn('updated_at', 'text', (column) => column.notNull())
    .addColumn('archived_at', 'text')
    .execute();
  await schema
    .createIndex('workflows_name')
    .on('workflows')
    .columns(['workspace_id', 'folder_path', 'name'])
    .unique()
    .where(sql.ref('archived_at'), 'is', null)
    .execute();
  await schema
    .createTable('workflow_versions')
    .addColumn('workflow_id', 'text', (column) => column.notNull().references('workflows.id'))
    .addColumn('version', 'integer', (column) => column.notNull())
    .addColumn('name', 'text')
    .addColumn('description', 'text')
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('engine_version', 'integer', (column) => column.notNull())
    .addColumn('created_at', 'text', (column) => column.notNull())
    .addColumn('deployed_by', 'text')
    .addPrimaryKeyConstraint('workflow_versions_key', ['workflow_id', 'version'])
    .execute();
  await schema
    .createTable('graph_ids')
    .addColumn('workspace_id', 'text', (column) => column.notNull())
    .addColumn('id', 'text', (column) => column.notNull())
    .addColumn('workflow_id', 'text', (column) => column.notNull().references('workflows.id'))
    .addPrimaryKeyConstraint('graph_ids_key', ['workspace_id', 'id'])
    .execute();
  await schema.createIndex('graph_ids_workflow').on('graph_ids').column('workflow_id').execute();
}

async function createRunTables(db: Kysely<unknown>): Promise<void> {
  const { schema } = db;
  await schema
    .createTable('claims')
    .addColumn('run_id', 'text', (column) => column.primaryKey())
    .addColumn('workflow_id', 'text', (column) => column.notNull())
    .addColumn('workspace_id', 'text', (column) => column.notNull())
    .addColumn('trigger', 'text', (column) => column.notNull())
    .addColumn('mode', 'text', (column) => column.notNull())
    .addColumn('created_at', 'text', (column) => column.notNull())
    .addColumn('waiting', 'text')
    .addColumn('failure', 'text')
    .execute();
  await createReservationIndexes(db);
  await schema
    .createTable('audit')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('workspace_id', 'text')
    .addColumn('user_id', 'text')
    .addColumn('credential_id', 'text')
    .addColumn('action', 'text', (column) => column.notNull())
    .addColumn('resource_type', 'text', (column) => column.notNull())
    .addColumn('resource_id', 'text', (column) => column.notNull())
    .addColumn('details', 'text')
    .addColumn('created_at', 'text', (column) => column.notNull())
    .execute();
  await schema.createIndex('audit_workspace').on('audit').columns(['workspace_id', 'created_at']).execute();
}

async function addPublicColumn(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable('workflows')
    .addColumn('public_api', 'integer', (column) => column.notNull().defaultTo(0))
    .execute();
}

/**
 * Makes run ids unique per workspace. Earlier ids were unique over all workspaces, so they are the engine's ids too.
 */
async function scopeRunIdsToWorkspaces(db: Kysely<unknown>): Promise<void> {
  const { schema } = db;
  await schema
    .createTable('claims_3')
    .addColumn('engine_id', 'text', (column) => column.primaryKey())
    .addColumn('run_id', 'text', (column) => column.notNull())
    .addColumn('workflow_id', 'text', (column) => column.notNull())
    .addColumn('workspace_id', 'text', (column) => column.notNull())
    .addColumn('trigger', 'text', (column) => column.notNull())
    .addColumn('mode', 'text', (column) => column.notNull())
    .addColumn('created_at', 'text', (column) => column.notNull())
    .addColumn('waiting', 'text')
    .addColumn('failure', 'text')
    .addUniqueConstraint('claims_run', ['workspace_id', 'run_id'])
    .execute();
  const columns = sql`run_id, workflow_id, workspace_id, trigger, mode, created_at, waiting, failure`;
  await sql`insert into claims_3 (engine_id, ${columns}) select run_id, ${columns} from claims`.execute(db);
  await schema.dropTable('claims').execute();
  await schema.alterTable('claims_3').renameTo('claims').execute();
  await createReservationIndexes(db);
}

async function createReservationIndexes({ schema }: Kysely<unknown>): Promise<void> {
  await schema.createIndex('claims_workflow').on('claims').columns(['workflow_id', 'created_at']).execute();
  await schema
    .createIndex('claims_waiting')
    .on('claims')
    .column('created_at')
    .where(sql.ref('waiting'), 'is not', null)
    .execute();
}

/** Adds the table of runs that unauthenticated callers have started. */
async function createPublicRuns(db: Kysely<unknown>): Promise<void> {
  const { schema } = db;
  await schema
    .createTable('public_runs')
    .addColumn('run_id', 'text', (column) => column.primaryKey())
    .addColumn('created_at', 'text', (column) => column.notNull())
    .addColumn('files', 'text')
    .execute();
  await schema
    .createIndex('public_runs_oldest')
    .on('public_runs')
    .columns(['created_at', 'run_id'])
    .execute();
}

/**
 * Adds the number of runs of each workflow. Counting them for a list would take time in proportion to all runs.
 * Database triggers count, so that no write is missed: they add a row with each workflow, and update it with each
 * reservation.
 */
async function createRunCounts(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('run_counts')
    .addColumn('workflow_id', 'text', (column) => column.primaryKey())
    .addColumn('runs', 'integer', (column) => column.notNull())
    .addColumn('last_at', 'text')
    .execute();
  // Created before the table is filled: PostgreSQL then locks the counted tables until the migration ends.
  for (const { name, event, statement } of COUNT_TRIGGERS) {
    if (isPostgres(db)) await createPostgresTrigger(db, { name, event, statement });
    else await sql.raw(`create trigger ${name} ${event} for each row begin ${statement}; end`).execute(db);
  }
  await sql`
    insert into run_counts (workflow_id, runs, last_at)
    select workflows.id, count(claims.engine_id), max(claims.created_at)
    from workflows left join claims on claims.workflow_id = workflows.id
    group by workflows.id`.execute(db);
}

/** Adds the outcome of audit events that are recorded before their action. */
async function addOutcomeColumn({ schema }: Kysely<unknown>): Promise<void> {
  await schema.alterTable('audit').addColumn('outcome', 'text').execute();
}

interface DatabaseTrigger {
  name: string;
  event: string;
  statement: string;
}

const COUNT_TRIGGERS: readonly DatabaseTrigger[] = [
  {
    name: 'run_counts_workflow',
    event: 'after insert on workflows',
    statement: 'insert into run_counts (workflow_id, runs) values (new.id, 0)',
  },
  {
    name: 'run_counts_reserved',
    event: 'after insert on claims',
    statement: `update run_counts set runs = runs + 1,
      last_at = case when last_at > new.created_at then last_at else new.created_at end
      where workflow_id = new.workflow_id`,
  },
  {
    name: 'run_counts_released',
    event: 'after delete on claims',
    statement: `update run_counts set runs = runs - 1,
      last_at = (select max(created_at) from claims where claims.workflow_id = old.workflow_id)
      where workflow_id = old.workflow_id`,
  },
];

async function createPostgresTrigger(
  db: Kysely<unknown>,
  { name, event, statement }: DatabaseTrigger,
): Promise<void> {
  const body = `begin ${statement}; return null; end`;
  await sql.raw(`create function ${name}() returns trigger language plpgsql as $$ ${body} $$`).execute(db);
  await sql.raw(`create trigger ${name} ${event} for each row execute function ${name}()`).execute(db);
}

/** Adds the column that marks the queued runs that wait for flow control. */
async function addHeldColumn({ schema }: Kysely<unknown>): Promise<void> {
  await schema.alterTable('claims').addColumn('held', 'integer').execute();
}
