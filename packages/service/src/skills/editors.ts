import { sql } from 'kysely';
import { readPage } from '../paging.ts';
import { countOf } from '../store/database.ts';
import type { Db, SkillKey, PagePosition } from './store.ts';

/** An editor of a skill (an admin of the workspace, or a member with a grant), or a member who can become one. */
export interface SkillEditor {
  userId: string;
  email: string;
  name: string;
  isWorkspaceAdmin: boolean;
}

export interface EditorsQuery {
  sortBy: 'email' | 'name';
  sortOrder: 'asc' | 'desc';
  limit: number;
  afterPosition?: PagePosition | undefined;
}

/** Returns a page of the admins of the workspace and of the members with a grant for the skill. */
export async function readPageOfEditors(
  db: Db,
  skill: SkillKey,
  query: EditorsQuery,
): Promise<{ editors: SkillEditor[]; next: PagePosition | undefined }> {
  const { sortBy } = query;
  const selectQuery = membersQuery(db, skill.workspaceId).where((eb) =>
    eb.or([
      eb('members.role', '=', 'admin'),
      sql<boolean>`exists ${grantsQuery(db, skill)
        .select(sql`1`.as('one'))
        .where('user_id', '=', sql.ref<string>('users.id'))}`,
    ]),
  );
  const { rows, next } = await readPage(
    selectQuery,
    [`users.${sortBy}`, 'users.id'],
    query,
    (row): PagePosition => [row[sortBy], row.id],
  );
  return { editors: rows.map(editorOf), next };
}

/** Returns the member of the workspace with exactly this email address; undefined if there is none. */
export async function findMemberWithEmail(
  db: Db,
  workspaceId: string,
  email: string,
): Promise<SkillEditor | undefined> {
  const row = await membersQuery(db, workspaceId).where('users.email', '=', email).executeTakeFirst();
  return row && editorOf(row);
}

/** Returns whether the user has a grant for the skill: the right to change it. */
export async function hasGrant(db: Db, skill: SkillKey, userId: string): Promise<boolean> {
  const query = grantsQuery(db, skill).select('user_id').where('user_id', '=', userId);
  return (await query.executeTakeFirst()) !== undefined;
}

/** Grants a user the right to change the skill. Returns false if the user had it already. */
export async function grant(
  db: Db,
  { workspaceId, id }: SkillKey,
  { userId, now }: { userId: string; now: string },
): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('skill_editors')
    .values({ workspace_id: workspaceId, skill_id: id, user_id: userId, created_at: now })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst();
  return numInsertedOrUpdatedRows === 1n;
}

/** Revokes a grant. Returns whether it existed. */
export async function revoke(db: Db, { workspaceId, id }: SkillKey, userId: string): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('skill_editors')
    .where('workspace_id', '=', workspaceId)
    .where('skill_id', '=', id)
    .where('user_id', '=', userId)
    .executeTakeFirst();
  return numDeletedRows > 0n;
}

/** Returns the number of grants for the skill. */
export async function countGrants(db: Db, skill: SkillKey): Promise<number> {
  return countOf(grantsQuery(db, skill));
}

function grantsQuery(db: Db, { workspaceId, id }: SkillKey) {
  return db.selectFrom('skill_editors').where('workspace_id', '=', workspaceId).where('skill_id', '=', id);
}

function membersQuery(db: Db, workspaceId: string) {
  return db
    .selectFrom('members')
    .innerJoin('users', 'users.id', 'members.user_id')
    .select(['users.id', 'users.email', 'users.name', 'members.role'])
    .where('members.workspace_id', '=', workspaceId);
}

function editorOf({
  id,
  email,
  name,
  role,
}: {
  id: string;
  email: string;
  name: string;
  role: string;
}): SkillEditor {
  return { userId: id, email, name, isWorkspaceAdmin: role === 'admin' };
}
