import { changeIfUnlocked } from '../workflows/change.ts';
import type { Db as FolderDb } from '../workflows/folders.ts';
import { compiledQuery } from './compiled-query.ts';
import { isUniqueViolation } from './database.ts';
import type { Db } from './database.ts';
import type { VersionRow, WorkflowRow } from './schema.ts';
import { listQuery } from './list-query.ts';
import type { ListedWorkflow, WorkflowListQuery } from './list-query.ts';

/** Maximum number of ids per statement, below the parameter limits of both databases. */
const CHUNK_SIZE = 500;

/** Records a change in the audit log, in the transaction of the change. */
export type AuditRecorder<Changed = void> = (transaction: Db, changedRow: Changed) => Promise<void>;

/** A version whose number is not assigned yet. */
export type NewVersion = Omit<VersionRow, 'version'>;

/** Drafts, versions, and which version is live. */
export class WorkflowStore {
  readonly #db: Db;
  readonly #findById: (id: string) => Promise<WorkflowRow[]>;
  readonly #findVersions: (workflowId: string, version: number) => Promise<VersionRow[]>;

  constructor(db: Db) {
    this.#db = db;
    this.#findById = compiledQuery(db, (builder) =>
      builder.selectFrom('workflows').selectAll().where('id', '=', ''),
    );
    this.#findVersions = compiledQuery(db, (builder) =>
      builder
        .selectFrom('workflow_versions')
        .selectAll()
        .where('workflow_id', '=', '')
        .where('version', '=', 0),
    );
  }

  async find(id: string): Promise<WorkflowRow | undefined> {
    return (await this.#findById(id))[0];
  }

  /** Returns a page, and one more item when there is a next page. */
  async list(query: WorkflowListQuery): Promise<ListedWorkflow[]> {
    return listQuery(this.#db, query).execute();
  }

  /** Returns how many runs of each workflow have ended, and when the last one began, as the log has counted them. */
  async readRunCounts(
    workflowIds: readonly string[],
  ): Promise<Map<string, { count: number; lastStartedAt: string | null }>> {
    if (workflowIds.length === 0) return new Map();
    const rows = await this.#db
      .selectFrom('run_counts')
      .selectAll()
      .where('workflow_id', 'in', workflowIds)
      .execute();
    return new Map(
      rows.map(({ workflow_id: id, runs, last_at: lastStartedAt }) => [id, { count: runs, lastStartedAt }]),
    );
  }

  /** Returns those of the ids that another workflow of the workspace uses. */
  async findTakenIds(workflow: WorkflowRow, ids: readonly string[]): Promise<string[]> {
    return findTakenIds(this.#db, workflow, ids);
  }

  /**
   * Replaces the draft with the result of `edit` for the stored draft. Returns the ids that another workflow uses; if
   * there are any, nothing changes.
   */
  async replaceState(
    workflow: WorkflowRow,
    edit: (state: string) => { state: string; ids: readonly string[] },
    recordAudit: AuditRecorder,
  ): Promise<string[]> {
    let ids: readonly string[] = [];
    try {
      return await this.#change(workflow.id, async (db) => {
        const currentRow = await db
          .selectFrom('workflows')
          .select('state')
          .where('id', '=', workflow.id)
          .executeTakeFirstOrThrow();
        const editedDraft = edit(currentRow.state);
        ({ ids } = editedDraft);
        const takenIds = await findTakenIds(db, workflow, ids);
        if (takenIds.length > 0) return takenIds;
        await db
          .updateTable('workflows')
          .set({ state: editedDraft.state, updated_at: new Date().toISOString() })
          .where('id', '=', workflow.id)
          .execute();
        await db.deleteFrom('graph_ids').where('workflow_id', '=', workflow.id).execute();
        await insertGraphIds(db, workflow, ids);
        await recordAudit(db);
        return [];
      });
    } catch (error) {
      // Another workflow has taken an id since the check.
      if (isUniqueViolation(error)) return findTakenIds(this.#db, workflow, ids);
      throw error;
    }
  }

  /** Adds a version and makes it live, in one transaction with its audit record. */
  async addVersion(version: NewVersion, recordAudit: AuditRecorder<VersionRow>): Promise<VersionRow> {
    return this.#change(version.workflow_id, async (db) => {
      const lastVersion = await db
        .selectFrom('workflow_versions')
        .select((eb) => eb.fn.max('version').as('number'))
        .where('workflow_id', '=', version.workflow_id)
        .executeTakeFirst();
      const row = { ...version, version: Number(lastVersion?.number ?? 0) + 1 };
      await db.insertInto('workflow_versions').values(row).execute();
      await setActiveVersion(db, row, row.created_at);
      await recordAudit(db, row);
      return row;
    });
  }

  /** Makes a stored version live from `deployedAt` on, and records its `engine_version`. */
  async activate(row: VersionRow, deployedAt: string, recordAudit: AuditRecorder): Promise<void> {
    await this.#change(row.workflow_id, async (db) => {
      await db
        .updateTable('workflow_versions')
        .set({ engine_version: row.engine_version })
        .where('workflow_id', '=', row.workflow_id)
        .where('version', '=', row.version)
        .execute();
      await setActiveVersion(db, row, deployedAt);
      await recordAudit(db);
    });
  }

  /** Changes the name and description of a version, if given. Returns the version; undefined if there is none. */
  async changeVersion(
    { workflowId, version }: { workflowId: string; version: number },
    { name, description }: { name?: string | undefined; description?: string | null | undefined },
    recordAudit: AuditRecorder,
  ): Promise<VersionRow | undefined> {
    return this.#change(workflowId, async (db) => {
      const row = await db
        .updateTable('workflow_versions')
        .set({ ...(name !== undefined && { name }), ...(description !== undefined && { description }) })
        .where('workflow_id', '=', workflowId)
        .where('version', '=', version)
        .returningAll()
        .executeTakeFirst();
      if (row) await recordAudit(db);
      return row;
    });
  }

  async undeploy(workflowId: string, recordAudit: AuditRecorder): Promise<void> {
    await this.#change(workflowId, async (db) => {
      await db
        .updateTable('workflows')
        .set({ active_version: null, deployed_at: null })
        .where('id', '=', workflowId)
        .execute();
      await recordAudit(db);
    });
  }

  /** Allows or forbids unauthenticated runs of the live version. */
  async setPublic(workflowId: string, isPublic: boolean, recordAudit: AuditRecorder): Promise<void> {
    await this.#change(workflowId, async (db) => {
      await db
        .updateTable('workflows')
        .set({ public_api: isPublic ? 1 : 0 })
        .where('id', '=', workflowId)
        .execute();
      await recordAudit(db);
    });
  }

  /**
   * Runs a write in a transaction that locks the workflow. Throws 404 for an archived workflow, 423 for a locked
   * folder.
   */
  #change<T>(workflowId: string, write: (tx: Db) => Promise<T>): Promise<T> {
    return changeIfUnlocked(this.#db as unknown as FolderDb, workflowId, (tx) => write(tx as unknown as Db));
  }

  async findVersion(workflowId: string, version: number): Promise<VersionRow | undefined> {
    return (await this.#findVersions(workflowId, version))[0];
  }

  /** Returns versions below `beforeVersion`, newest first, and one more than `limit` when there is a next page. */
  async listVersions(workflowId: string, limit: number, beforeVersion?: number): Promise<VersionRow[]> {
    return this.#db
      .selectFrom('workflow_versions')
      .selectAll()
      .where('workflow_id', '=', workflowId)
      .$if(beforeVersion !== undefined, (query) => query.where('version', '<', beforeVersion as number))
      .orderBy('version', 'desc')
      .limit(limit + 1)
      .execute();
  }
}

async function setActiveVersion(
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

async function findTakenIds(db: Db, workflow: WorkflowRow, ids: readonly string[]): Promise<string[]> {
  const takenIds: string[] = [];
  for (const chunk of toChunks(ids)) {
    const rows = await db
      .selectFrom('graph_ids')
      .select('id')
      .where('workspace_id', '=', workflow.workspace_id)
      .where('workflow_id', '!=', workflow.id)
      .where('id', 'in', chunk)
      .execute();
    for (const { id } of rows) takenIds.push(id);
  }
  return takenIds;
}

async function insertGraphIds(db: Db, workflow: WorkflowRow, ids: readonly string[]): Promise<void> {
  for (const chunk of toChunks(ids)) {
    const rows = chunk.map((id) => ({ workspace_id: workflow.workspace_id, id, workflow_id: workflow.id }));
    await db.insertInto('graph_ids').values(rows).execute();
  }
}

function toChunks(ids: readonly string[]): string[][] {
  const uniqueIds = [...new Set(ids)];
  return Array.from({ length: Math.ceil(uniqueIds.length / CHUNK_SIZE) }, (_, index) =>
    uniqueIds.slice(index * CHUNK_SIZE, (index + 1) * CHUNK_SIZE),
  );
}
