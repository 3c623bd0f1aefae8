import type { Kysely } from 'kysely';
import { containsCondition, readPage } from '../paging.ts';
import { countOf } from '../store/database.ts';
import type { WorkspaceTables } from '../workspaces/store.ts';
import type { SkillInfo, SkillRow, SkillTables } from './tables.ts';

/** The tables of skills, and the tables of workspaces that their queries read. */
export type Db = Kysely<SkillTables & WorkspaceTables>;

/** The primary key of a skill. */
export interface SkillKey {
  workspaceId: string;
  id: string;
}

export interface NewSkill extends SkillKey {
  name: string;
  description: string;
  content: string;
  /** ISO 8601. */
  now: string;
}

/** Changes to a skill. An undefined property keeps the current value. */
export interface SkillChanges {
  name?: string | undefined;
  description?: string | undefined;
  content?: string | undefined;
  /** ISO 8601. */
  now: string;
}

export interface SkillsQuery {
  workspaceId: string;
  search?: string | undefined;
  sortBy: 'name' | 'createdAt' | 'updatedAt';
  sortOrder: 'asc' | 'desc';
  limit: number;
  afterPosition?: PagePosition | undefined;
}

/** The sort value and the id of a page's last row. */
export type PagePosition = readonly [value: string, id: string];

const COLUMNS = ['workspace_id', 'id', 'name', 'description', 'created_at', 'updated_at'] as const;
const SORT_COLUMNS = { name: 'name', createdAt: 'created_at', updatedAt: 'updated_at' } as const;

/** Adds a skill. Returns undefined if the workspace has one with this name. */
export function addSkill(db: Db, skill: NewSkill): Promise<SkillRow | undefined> {
  const { workspaceId, id, name, description, content, now } = skill;
  return db
    .insertInto('skills')
    .values({ workspace_id: workspaceId, id, name, description, content, created_at: now, updated_at: now })
    .onConflict((conflict) => conflict.doNothing())
    .returningAll()
    .executeTakeFirst();
}

/**
 * Changes a skill. Returns undefined if there is none. Throws the unique-constraint error of the database if another
 * skill has the new name.
 */
export function changeSkill(
  db: Db,
  { workspaceId, id }: SkillKey,
  { name, description, content, now }: SkillChanges,
): Promise<SkillRow | undefined> {
  return db
    .updateTable('skills')
    .set({
      ...(name !== undefined && { name }),
      ...(description !== undefined && { description }),
      ...(content !== undefined && { content }),
      updated_at: now,
    })
    .where('workspace_id', '=', workspaceId)
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst();
}

/**
 * Locks a skill until the transaction ends, so that no other transaction deletes it while an editor is added.
 * Returns whether it exists.
 */
export async function lockSkill(db: Db, { workspaceId, id }: SkillKey): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('skills')
    .set((eb) => ({ updated_at: eb.ref('updated_at') }))
    .where('workspace_id', '=', workspaceId)
    .where('id', '=', id)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** Deletes a skill with its editors. Returns the deleted skill; undefined if there is none. */
export function removeSkill(db: Db, { workspaceId, id }: SkillKey): Promise<SkillInfo | undefined> {
  return db
    .deleteFrom('skills')
    .where('workspace_id', '=', workspaceId)
    .where('id', '=', id)
    .returning(COLUMNS)
    .executeTakeFirst();
}

/** Returns the skill with this id or this name; undefined if the workspace has none. */
export function findSkill(
  db: Db,
  { workspaceId, ...key }: { workspaceId: string } & ({ id: string } | { name: string }),
): Promise<SkillRow | undefined> {
  const [column, value] = 'id' in key ? (['id', key.id] as const) : (['name', key.name] as const);
  return db
    .selectFrom('skills')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .where(column, '=', value)
    .executeTakeFirst();
}

/** Returns the skills of the workspace whose id or name is in the list. */
export function findSkills(db: Db, workspaceId: string, idsOrNames: readonly string[]): Promise<SkillInfo[]> {
  return db
    .selectFrom('skills')
    .select(COLUMNS)
    .where('workspace_id', '=', workspaceId)
    .where((eb) => eb.or([eb('id', 'in', idsOrNames), eb('name', 'in', idsOrNames)]))
    .execute();
}

/** Returns the number of skills of the workspace. */
export async function countSkills(db: Db, workspaceId: string): Promise<number> {
  return countOf(db.selectFrom('skills').where('workspace_id', '=', workspaceId));
}

/** Returns a page of skills without their content, and the position of its last row if more follow. */
export async function readPageOfSkills(
  db: Db,
  query: SkillsQuery,
): Promise<{ rows: SkillInfo[]; next: PagePosition | undefined }> {
  const { workspaceId, search } = query;
  const column = SORT_COLUMNS[query.sortBy];
  let selectQuery = db.selectFrom('skills').select(COLUMNS).where('workspace_id', '=', workspaceId);
  if (search !== undefined)
    selectQuery = selectQuery.where((eb) =>
      eb.or([containsCondition('name', search), containsCondition('description', search)]),
    );
  return readPage(selectQuery, [column, 'id'], query, (row): PagePosition => [row[column], row.id]);
}
