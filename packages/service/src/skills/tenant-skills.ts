import { isStorable } from '@heddle/engine/stores';
import type { EngineOptions } from '@heddle/engine';
import type { Kysely } from 'kysely';
import { findSkill, findSkills } from './store.ts';
import type { Db } from './store.ts';

/** The stored skills of tenants, in the form that an engine takes. */
export type TenantSkills = NonNullable<EngineOptions['tenantSkills']>;

/** Returns the skills of workspaces, for agents. A workflow can use only those of its workspace. */
export function storedSkills(database: Kysely<unknown>): TenantSkills {
  const db = database as Db;
  return {
    async find(workspaceId, idsOrNames) {
      const storableIdsOrNames = idsOrNames.filter(isStorable);
      if (workspaceId === undefined || storableIdsOrNames.length === 0) return [];
      return (await findSkills(db, workspaceId, storableIdsOrNames)).map(({ id, name, description }) => ({
        ...{ id, name, description },
      }));
    },
    async read(workspaceId, id) {
      if (workspaceId === undefined || !isStorable(id)) return undefined;
      const row = await findSkill(db, { workspaceId, id });
      return row && { id, name: row.name, description: row.description, content: row.content };
    },
  };
}
