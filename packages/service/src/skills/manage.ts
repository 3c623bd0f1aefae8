import { randomUUID } from 'node:crypto';
import type { Kysely } from 'kysely';
import { requireValid } from '../require-valid.ts';
import { MAX_SKILLS, skillContent, skillDescription, skillName } from './schemas.ts';
import { addSkill, changeSkill, countSkills, findSkill, readPageOfSkills, removeSkill } from './store.ts';
import type { Db, PagePosition } from './store.ts';
import type { SkillInfo, SkillRow } from './tables.ts';

// Functions with which the administrator of an installation manages skills without the HTTP API.

/** A database with the tables of the service. */
type Database = Kysely<unknown>;

/** A skill of a workspace, without its content. */
export interface StoredSkill {
  id: string;
  name: string;
  description: string;
  createdAt: string;
  updatedAt: string;
}

/** Identifies a skill by its workspace and its name. */
export interface SkillNameKey {
  workspaceId: string;
  name: string;
}

/** Number of skills that one query reads. */
const PAGE_SIZE = 100;

function toDb(database: Database): Db {
  return database as Db;
}

/**
 * Stores a skill of a workspace. If the workspace has a skill with this name, replaces its content, and its description
 * if there is a new one. Throws a RangeError for an invalid name, content or description, for a new skill without a
 * description, and for too many skills.
 */
export async function storeSkill(
  database: Database,
  input: SkillNameKey & { content: string; description?: string | undefined },
): Promise<{ skill: StoredSkill; isNew: boolean }> {
  const { workspaceId, name, description, content } = input;
  requireValid('name', skillName, name);
  requireValid('content', skillContent, content);
  if (description !== undefined) requireValid('description', skillDescription, description);
  return toDb(database)
    .transaction()
    .execute(async (db) => {
      const now = new Date().toISOString();
      const existingSkill = await findSkill(db, { workspaceId, name });
      if (existingSkill) {
        const changes = { content, ...(description !== undefined && { description }), now };
        const changedSkill = await changeSkill(db, { workspaceId, id: existingSkill.id }, changes);
        if (changedSkill) return { skill: viewOf(changedSkill), isNew: false };
      }
      if (description === undefined)
        throw new RangeError(
          'A new skill needs a description: models use it to decide when to read the skill.',
        );
      const addedSkill = await addSkill(db, {
        workspaceId,
        id: randomUUID(),
        name,
        description,
        content,
        now,
      });
      if (!addedSkill)
        throw new RangeError(`Another process has just stored a skill named "${name}": try again.`);
      if ((await countSkills(db, workspaceId)) > MAX_SKILLS)
        throw new RangeError(`The workspace has ${MAX_SKILLS} skills already.`);
      return { skill: viewOf(addedSkill), isNew: true };
    });
}

/** Returns the skills of a workspace, sorted by name, without their content. */
export async function listStoredSkills(database: Database, workspaceId: string): Promise<StoredSkill[]> {
  const skills: StoredSkill[] = [];
  const query = { workspaceId, sortBy: 'name', sortOrder: 'asc', limit: PAGE_SIZE } as const;
  let afterPosition: PagePosition | undefined;
  do {
    const { rows, next } = await readPageOfSkills(toDb(database), { ...query, afterPosition });
    skills.push(...rows.map(viewOf));
    afterPosition = next;
  } while (afterPosition);
  return skills;
}

/** Returns the skill with this name and its content; undefined if there is none. */
export async function findStoredSkill(
  database: Database,
  key: SkillNameKey,
): Promise<(StoredSkill & { content: string }) | undefined> {
  const row: SkillRow | undefined = await findSkill(toDb(database), key);
  return row && { ...viewOf(row), content: row.content };
}

/** Deletes the skill with this name. Returns whether it existed. */
export async function removeStoredSkill(database: Database, key: SkillNameKey): Promise<boolean> {
  const row = await findSkill(toDb(database), key);
  const { workspaceId } = key;
  return row !== undefined && (await removeSkill(toDb(database), { workspaceId, id: row.id })) !== undefined;
}

function viewOf({ id, name, description, created_at, updated_at }: SkillInfo): StoredSkill {
  return { id, name, description, createdAt: created_at, updatedAt: updated_at };
}
