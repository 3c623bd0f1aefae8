import { isStorable } from '@heddle/engine/stores';
import type { Definition, Definitions } from '@heddle/api/ports';
import { compiledQuery } from '../store/compiled-query.ts';
import type { Db } from '../store/database.ts';
import { toEngineFormat, readGraph } from './graph.ts';

interface DefinitionRow {
  id: string;
  workspace_id: string;
  public_api: number;
  archived_at: string | null;
  engine_version: number | null;
}

/**
 * Returns the workflows of the store, for the HTTP API and the engine. Only `findDraft` reads graphs. The functions
 * can be called without `this`.
 */
export function createStoredDefinitions(db: Db): Definitions {
  // The empty id stands for the parameter of a call.
  const selectById = compiledQuery<DefinitionRow>(db, (query) =>
    selectWithLiveVersion(query)
      .select(['workflows.id', 'workflows.workspace_id', 'workflows.public_api', 'workflows.archived_at'])
      .select('workflow_versions.engine_version')
      .where('workflows.id', '=', ''),
  );

  async function find(id: string): Promise<Definition | undefined> {
    // The id can come from the input of a run, so it may have characters that a database cannot store.
    if (!isStorable(id)) return undefined;
    const [row] = await selectById(id);
    return (
      row && {
        id: row.id,
        workspaceId: row.workspace_id,
        liveVersion: row.engine_version ?? undefined,
        isPublic: row.public_api === 1,
        isArchived: row.archived_at !== null,
      }
    );
  }

  return {
    find,
    async findDraft(id) {
      const row = await db
        .selectFrom('workflows')
        .select(['id', 'name', 'description', 'state'])
        .where('id', '=', id)
        .executeTakeFirst();
      return row && toEngineFormat(row, readGraph(row.state));
    },
    async resolveChild(callerWorkflowId, reference) {
      if (!isStorable(reference)) return undefined;
      const caller = await find(callerWorkflowId);
      // A caller without a workspace resolves only workflows without one.
      if (!caller) return (await find(reference)) ? undefined : { workflow: reference };
      const rows = await selectWithLiveVersion(db)
        .select(['workflows.id', 'workflow_versions.engine_version'])
        .where('workflows.workspace_id', '=', caller.workspaceId)
        .where('workflows.archived_at', 'is', null)
        .where('workflows.active_version', 'is not', null)
        .where((eb) => eb.or([eb('workflows.id', '=', reference), eb('workflows.name', '=', reference)]))
        .orderBy('workflows.deployed_at', 'desc')
        .execute();
      // Ids take precedence over names. If workflows in several folders have the name, the one deployed last is used.
      const child = rows.find(({ id }) => id === reference) ?? rows[0];
      return (
        child && {
          workflow: child.id,
          ...(child.engine_version !== null && { version: child.engine_version }),
        }
      );
    },
    tenant: async (workflowId) => (await find(workflowId))?.workspaceId,
  };
}

function selectWithLiveVersion(db: Db) {
  return db
    .selectFrom('workflows')
    .leftJoin('workflow_versions', (join) =>
      join
        .onRef('workflow_versions.workflow_id', '=', 'workflows.id')
        .onRef('workflow_versions.version', '=', 'workflows.active_version'),
    );
}
