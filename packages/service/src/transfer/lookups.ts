import type { Principal } from '@heddle/api';
import { isStorable } from '@heddle/engine/stores';
import type { Kysely } from 'kysely';
import type { CredentialTables } from '../credentials/tables.ts';
import type { SandboxTables } from '../sandboxes/tables.ts';
import type { SecretTables } from '../secrets/tables.ts';
import { findSkills } from '../skills/store.ts';
import type { Db as SkillDb } from '../skills/store.ts';
import type { WorkflowTables } from '../workflows/tables.ts';
import type { KindName } from './kinds.ts';

/** The caller who imports a workflow, and the workspace. */
export interface Destination {
  workspaceId: string;
  principal: Principal;
}

/** Returns those of the ids that exist in the workspace. */
export type Lookup = (
  ids: readonly string[],
  destination: Pick<Destination, 'workspaceId'>,
) => Promise<ReadonlySet<string>>;

/** The lookups by kind. A reference of a kind without a lookup remains unresolved and can only be cleared. */
export type Lookups = { readonly [K in KindName]?: Lookup };

type Db = Kysely<WorkflowTables & SecretTables & SandboxTables & CredentialTables>;

/** Maximum number of ids per statement, below the parameter limits of both databases. */
const CHUNK_SIZE = 500;

/** Returns the lookups of the resources in the store. */
export function storeLookups(database: Kysely<unknown>) {
  const db = database as Db;
  return {
    // Every member of a workspace may use its credentials. Workspace keys, which cannot bind any, are refused earlier.
    credential: toLookup((ids, workspaceId) =>
      db
        .selectFrom('credentials')
        .select('id')
        .where('workspace_id', '=', workspaceId)
        .where('id', 'in', ids)
        .execute(),
    ),
    'env-var': toLookup((names, workspaceId) =>
      db
        .selectFrom('secrets')
        .select('name as id')
        .where('workspace_id', '=', workspaceId)
        .where('user_id', '=', '')
        .where('name', 'in', names)
        .execute(),
    ),
    sandbox: toLookup((ids, workspaceId) =>
      db
        .selectFrom('sandboxes')
        .select('id')
        .where('workspace_id', '=', workspaceId)
        .where('id', 'in', ids)
        .execute(),
    ),
    /** Agents name skills by their ids or their names. */
    skill: async (idsOrNames, { workspaceId }) => {
      const find = chunkedFinder((chunk) => findSkills(database as SkillDb, workspaceId, chunk));
      return new Set((await find(idsOrNames)).flatMap(({ id, name }) => [id, name]));
    },
    workflow: toLookup((ids, workspaceId) =>
      db
        .selectFrom('workflows')
        .select('id')
        .where('workspace_id', '=', workspaceId)
        .where('archived_at', 'is', null)
        .where('id', 'in', ids)
        .execute(),
    ),
  } satisfies Lookups;
}

function toLookup(find: (ids: string[], workspaceId: string) => Promise<{ id: string }[]>): Lookup {
  return async (ids, { workspaceId }) => {
    const rows = await chunkedFinder((chunk) => find(chunk, workspaceId))(ids);
    return new Set(rows.map(({ id }) => id));
  };
}

/** Returns a function that finds rows by any number of ids. Ids that the database cannot store are skipped. */
export function chunkedFinder<Row>(
  find: (ids: string[]) => Promise<Row[]>,
): (ids: readonly string[]) => Promise<Row[]> {
  return async (ids) => {
    const rows: Row[] = [];
    const storableIds = ids.filter(isStorable);
    for (let start = 0; start < storableIds.length; start += CHUNK_SIZE) {
      for (const row of await find(storableIds.slice(start, start + CHUNK_SIZE))) rows.push(row);
    }
    return rows;
  };
}
