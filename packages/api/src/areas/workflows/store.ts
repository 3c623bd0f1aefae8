import type { ResolvedChild } from '@heddle/engine';
import { compiled } from '../../store/compiled.ts';
import { isDuplicate } from '../../store/database.ts';
import type { Db } from '../../store/database.ts';
import type { AuditRow, VersionRow, WorkflowRow } from '../../store/schema.ts';
import { listQuery } from './list-query.ts';
import type { WorkflowListQuery } from './list-query.ts';

/** Ids per statement, below the parameter limits of both databases. */
const CHUNK = 500;
/** How often a version number is tried that other processes take at the same time. */
const MAX_ATTEMPTS = 10;

/** A version whose number is not assigned yet. */
export type NewVersion = Omit<VersionRow, 'version'>;

/** Drafts, versions, and which version is live. */
export class WorkflowStore {
  readonly #db: Db;
  readonly #byId: (id: string) => Promise<WorkflowRow[]>;
  readonly #versionOf: (workflowId: string, version: number) => Promise<VersionRow[]>;

  constructor(db: Db) {
    this.#db = db;
    this.#byId = compiled(db, (query) => query.selectFrom('workflows').selectAll().where('id', '=', ''));
    this.#versionOf = compiled(db, (query) =>
      query
        .selectFrom('workflow_versions')
        .selectAll()
        .where('workflow_id', '=', '')
        .where('version', '=', 0),
    );
  }

  async find(id: string): Promise<WorkflowRow | undefined> {
    return (await this.#byId(id))[0];
  }

  /**
   * Returns the live version of the workflow in the caller's workspace that `reference` names by id or name; undefined
   * when there is none. For the engine's `resolveChild`. A caller without a workspace resolves only workflows without one.
   */
  async resolveChild(caller: string, reference: string): Promise<ResolvedChild | undefined> {
    const from = await this.find(caller);
    if (!from) return (await this.find(reference)) ? undefined : { workflow: reference };
    const rows = await this.#db
      .selectFrom('workflows')
      .innerJoin('workflow_versions', (join) =>
        join
          .onRef('workflow_versions.workflow_id', '=', 'workflows.id')
          .onRef('workflow_versions.version', '=', 'workflows.active_version'),
      )
      .select(['workflows.id', 'workflow_versions.engine_version'])
      .where('workflows.workspace_id', '=', from.workspace_id)
      .where('workflows.archived_at', 'is', null)
      .where((or) => or.or([or('workflows.id', '=', reference), or('workflows.name', '=', reference)]))
      .orderBy('workflows.deployed_at', 'desc')
      .execute();
    // Ids take precedence over names. Of equal names in several folders, the latest deployment wins.
    const live = rows.find(({ id }) => id === reference) ?? rows[0];
    return live && { workflow: live.id, version: live.engine_version };
  }

  /** Returns the workspace of a workflow; undefined for an unknown workflow. For the engine's `tenant`. */
  async tenant(workflowId: string): Promise<string | undefined> {
    return (await this.find(workflowId))?.workspace_id;
  }

  /** Adds the workflow. False when the folder has one with this name. */
  async create(row: WorkflowRow, ids: readonly string[]): Promise<boolean> {
    try {
      await this.#db.transaction().execute(async (db) => {
        await db.insertInto('workflows').values(row).execute();
        await insertGraphIds(db, row, ids);
      });
      return true;
    } catch (error) {
      if (isDuplicate(error)) return false;
      throw error;
    }
  }

  /** Returns a page, and one more item when there is a next page. */
  async list(query: WorkflowListQuery): Promise<WorkflowRow[]> {
    return listQuery(this.#db, query).execute();
  }

  /** Returns the position after the last workflow of the workspace. */
  async nextPosition(workspaceId: string): Promise<number> {
    const row = await this.#db
      .selectFrom('workflows')
      .select((eb) => eb.fn.max('position').as('last'))
      .where('workspace_id', '=', workspaceId)
      .executeTakeFirst();
    return Number(row?.last ?? 0) + 1;
  }

  /** Returns those of the ids that another workflow of the workspace uses. */
  async foreignIds(workflow: WorkflowRow, ids: readonly string[]): Promise<string[]> {
    return foreignIds(this.#db, workflow, ids);
  }

  /** Replaces the draft. Returns the ids that another workflow uses; if there are any, nothing changes. */
  async replaceState(workflow: WorkflowRow, state: string, ids: readonly string[]): Promise<string[]> {
    try {
      return await this.#db.transaction().execute(async (db) => {
        const foreign = await foreignIds(db, workflow, ids);
        if (foreign.length > 0) return foreign;
        await db
          .updateTable('workflows')
          .set({ state, updated_at: new Date().toISOString() })
          .where('id', '=', workflow.id)
          .execute();
        await db.deleteFrom('graph_ids').where('workflow_id', '=', workflow.id).execute();
        await insertGraphIds(db, workflow, ids);
        return [];
      });
    } catch (error) {
      // Another workflow has taken an id since the check.
      if (isDuplicate(error)) return foreignIds(this.#db, workflow, ids);
      throw error;
    }
  }

  /** Adds a version and makes it live, in one transaction with its audit record. */
  async addVersion(version: NewVersion, audit: Omit<AuditRow, 'details'>): Promise<VersionRow> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#db.transaction().execute(async (db) => {
          // Locks the row, so that concurrent deployments in other processes wait.
          await db
            .updateTable('workflows')
            .set((eb) => ({ active_version: eb.ref('active_version') }))
            .where('id', '=', version.workflow_id)
            .execute();
          const last = await db
            .selectFrom('workflow_versions')
            .select((eb) => eb.fn.max('version').as('number'))
            .where('workflow_id', '=', version.workflow_id)
            .executeTakeFirst();
          const row = { ...version, version: Number(last?.number ?? 0) + 1 };
          await db.insertInto('workflow_versions').values(row).execute();
          await setActive(db, row, row.created_at);
          const details = JSON.stringify({ version: row.version });
          await db
            .insertInto('audit')
            .values({ ...audit, details })
            .execute();
          return row;
        });
      } catch (error) {
        if (!isDuplicate(error) || attempt === MAX_ATTEMPTS) throw error;
      }
    }
  }

  /** Makes a stored version live from `at` on, and records its `engine_version`. */
  async activate(row: VersionRow, at: string, audit: AuditRow): Promise<void> {
    await this.#db.transaction().execute(async (db) => {
      await db
        .updateTable('workflow_versions')
        .set({ engine_version: row.engine_version })
        .where('workflow_id', '=', row.workflow_id)
        .where('version', '=', row.version)
        .execute();
      await setActive(db, row, at);
      await db.insertInto('audit').values(audit).execute();
    });
  }

  async undeploy(workflowId: string, audit: AuditRow): Promise<void> {
    await this.#db.transaction().execute(async (db) => {
      await db
        .updateTable('workflows')
        .set({ active_version: null, deployed_at: null })
        .where('id', '=', workflowId)
        .execute();
      await db.insertInto('audit').values(audit).execute();
    });
  }

  /** Allows or forbids anonymous runs of the live version. */
  async setPublic(workflowId: string, isPublic: boolean, audit: AuditRow): Promise<void> {
    await this.#db.transaction().execute(async (db) => {
      await db
        .updateTable('workflows')
        .set({ public_api: isPublic ? 1 : 0 })
        .where('id', '=', workflowId)
        .execute();
      await db.insertInto('audit').values(audit).execute();
    });
  }

  async version(workflowId: string, version: number): Promise<VersionRow | undefined> {
    return (await this.#versionOf(workflowId, version))[0];
  }

  /** Returns versions below `before`, newest first, and one more than `limit` when there is a next page. */
  async versions(workflowId: string, limit: number, before?: number): Promise<VersionRow[]> {
    return this.#db
      .selectFrom('workflow_versions')
      .selectAll()
      .where('workflow_id', '=', workflowId)
      .$if(before !== undefined, (query) => query.where('version', '<', before as number))
      .orderBy('version', 'desc')
      .limit(limit + 1)
      .execute();
  }
}

async function setActive(
  db: Db,
  row: Pick<VersionRow, 'workflow_id' | 'version'>,
  deployed_at: string,
): Promise<void> {
  await db
    .updateTable('workflows')
    .set({ active_version: row.version, deployed_at })
    .where('id', '=', row.workflow_id)
    .execute();
}

async function foreignIds(db: Db, workflow: WorkflowRow, ids: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (const some of chunks(ids)) {
    const rows = await db
      .selectFrom('graph_ids')
      .select('id')
      .where('workspace_id', '=', workflow.workspace_id)
      .where('workflow_id', '!=', workflow.id)
      .where('id', 'in', some)
      .execute();
    for (const { id } of rows) found.push(id);
  }
  return found;
}

async function insertGraphIds(db: Db, workflow: WorkflowRow, ids: readonly string[]): Promise<void> {
  for (const some of chunks(ids)) {
    const rows = some.map((id) => ({ workspace_id: workflow.workspace_id, id, workflow_id: workflow.id }));
    await db.insertInto('graph_ids').values(rows).execute();
  }
}

function chunks(ids: readonly string[]): string[][] {
  const all = [...new Set(ids)];
  return Array.from({ length: Math.ceil(all.length / CHUNK) }, (_, part) =>
    all.slice(part * CHUNK, (part + 1) * CHUNK),
  );
}
