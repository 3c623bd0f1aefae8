import type { Principal } from '@heddle/api';
import type { Kysely } from 'kysely';
import type { SandboxTables } from '../sandboxes/tables.ts';
import type { SecretTables } from '../secrets/tables.ts';
import type { WorkflowTables } from '../workflows/tables.ts';
import type { KindName } from './kinds.ts';

/** Who imports, and where to. */
export interface Destination {
  workspaceId: string;
  principal: Principal;
}

/**
 * Returns those of the ids that the workspace has and the caller may use. Ids of other workspaces are left out, as absent
 * ones are.
 */
export type Lookup = (ids: readonly string[], destination: Destination) => Promise<ReadonlySet<string>>;

/** The lookups of the kinds whose areas there are. References of other kinds stay unresolved and can only be cleared. */
export type Lookups = { readonly [K in KindName]?: Lookup };

type Db = Kysely<WorkflowTables & SecretTables & SandboxTables>;

/** Ids per statement, below the parameter limits of both databases. */
const CHUNK = 500;

/** Returns the lookups of what the store has. */
export function storeLookups(database: Kysely<unknown>): Lookups {
  const db = database as Db;
  return {
    'env-var': inChunks((names, workspaceId) =>
      db
        .selectFrom('secrets')
        .select('name as id')
        .where('workspace_id', '=', workspaceId)
        .where('user_id', '=', '')
        .where('name', 'in', names)
        .execute(),
    ),
    sandbox: inChunks((ids, workspaceId) =>
      db
        .selectFrom('sandboxes')
        .select('id')
        .where('workspace_id', '=', workspaceId)
        .where('id', 'in', ids)
        .execute(),
    ),
    workflow: inChunks((ids, workspaceId) =>
      db
        .selectFrom('workflows')
        .select('id')
        .where('workspace_id', '=', workspaceId)
        .where('archived_at', 'is', null)
        .where('id', 'in', ids)
        .execute(),
    ),
  };
}

function inChunks(find: (ids: string[], workspaceId: string) => Promise<{ id: string }[]>): Lookup {
  return async (ids, { workspaceId }) => {
    const found = new Set<string>();
    const storable = ids.filter((id) => !id.includes('\0') && id.isWellFormed());
    for (let start = 0; start < storable.length; start += CHUNK) {
      for (const { id } of await find(storable.slice(start, start + CHUNK), workspaceId)) found.add(id);
    }
    return found;
  };
}
