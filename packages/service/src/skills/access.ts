import type { Principal } from '@heddle/api';
import { forbidden, notFound } from '@heddle/api/areas';
import type { ServiceStore } from '../store/open.ts';
import { isWorkspaceAdmin } from '../workspace-admin.ts';
import { hasGrant } from './editors.ts';
import { findSkill } from './store.ts';
import type { Db, SkillKey } from './store.ts';
import type { SkillRow } from './tables.ts';

/** Dependencies of the operations of skills. */
export interface SkillServices {
  store: Pick<ServiceStore, 'database' | 'workspaces'>;
  now: () => number;
}

export function databaseOf({ store }: SkillServices): Db {
  return store.database as Db;
}

export function isoNow({ now }: SkillServices): string {
  return new Date(now()).toISOString();
}

/** Returns the skill. Throws 404 if the workspace has none with this id. */
export async function requireSkill(services: SkillServices, key: SkillKey): Promise<SkillRow> {
  const row = await findSkill(databaseOf(services), key);
  if (!row) throw notFound('Skill');
  return row;
}

/** Returns the skill. Throws 404 if there is none, and 403 if the caller is not an editor of it. */
export async function requireEditableSkill(
  services: SkillServices,
  principal: Principal,
  key: SkillKey,
): Promise<SkillRow> {
  const row = await requireSkill(services, key);
  if (await isWorkspaceAdmin(services.store, principal, key.workspaceId)) return row;
  const { userId } = principal;
  if (userId !== null && (await hasGrant(databaseOf(services), key, userId))) return row;
  throw forbidden(
    'SKILL_EDITOR_ACCESS_REQUIRED',
    'Only its editors and workspace admins can change this skill',
  );
}
