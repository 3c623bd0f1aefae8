import { createHash } from 'node:crypto';
import type { Principal, Role } from '@heddle/api';
import { sql } from 'kysely';
import type { Kysely } from 'kysely';
import { pageOf, readPage } from '../paging.ts';
import type { AuditRow } from '../store/schema.ts';

/** The columns that this module reads. Timestamps are ISO 8601 text in UTC, booleans are 0 or 1. */
export interface WorkspaceTables {
  workspaces: {
    id: string;
    name: string;
    /** 1 if the workspace accepts personal keys. */
    personal_keys: number;
    created_at: string;
    /** Null: never changed. */
    updated_at: string | null;
  };
  members: { workspace_id: string; user_id: string; role: Role; created_at: string };
  users: { id: string; email: string; name: string; created_at: string };
  api_keys: { id: string; name: string };
  audit: AuditRow;
}

type Db = Kysely<WorkspaceTables>;

/** A workspace as its members see it. */
export interface WorkspaceInfo {
  id: string;
  name: string;
  /** CSS colour that distinguishes workspaces. It is derived from the id. */
  color: string;
  logoUrl: null;
  memberCount: number;
  createdAt: string;
  updatedAt: string;
}

/** A member of a workspace. */
export interface MemberInfo {
  userId: string;
  email: string;
  name: string;
  image: null;
  role: Role;
  isExternal: boolean;
  joinedAt: string;
}

export interface WorkspacesQuery {
  sortBy: 'name' | 'createdAt' | 'updatedAt';
  sortOrder: 'asc' | 'desc';
  limit: number;
  afterPosition?: WorkspacePosition | undefined;
}

/** The sort value and the id of a page's last row. */
export type WorkspacePosition = readonly [value: string, id: string];

const SORT_COLUMNS = { name: 'name', createdAt: 'created_at', updatedAt: 'updated_at' } as const;
const COLORS = ['#2563eb', '#0d9488', '#7c3aed', '#c2410c', '#be185d', '#4d7c0f', '#0369a1', '#a16207'];

/** Returns a page of the workspaces that the caller can access, and the position of its last row if more follow. */
export async function readPageOfWorkspaces(
  db: Db,
  principal: Pick<Principal, 'kind' | 'userId' | 'workspaceId'>,
  query: WorkspacesQuery,
): Promise<{ page: WorkspaceInfo[]; next: WorkspacePosition | undefined }> {
  const column = SORT_COLUMNS[query.sortBy];
  const { rows, next } = await readPage(
    db.selectFrom(workspaceInfoQuery(db).as('w')).selectAll().where(accessCondition(principal)),
    [column, 'id'],
    query,
    (row): WorkspacePosition => [row[column], row.id],
  );
  return { page: rows.map(toWorkspaceInfo), next };
}

/** Returns the workspace; undefined if there is none. */
export async function findWorkspace(db: Db, id: string): Promise<WorkspaceInfo | undefined> {
  const row = await db
    .selectFrom(workspaceInfoQuery(db).as('w'))
    .selectAll()
    .where('id', '=', id)
    .executeTakeFirst();
  return row && toWorkspaceInfo(row);
}

/** Returns a page of the members, sorted by email address, and the email address of its last member if more follow. */
export async function readPageOfMembers(
  db: Db,
  workspaceId: string,
  { limit, afterPosition }: { limit: number; afterPosition?: string | undefined },
): Promise<{ page: MemberInfo[]; next: string | undefined }> {
  let query = db
    .selectFrom('members')
    .innerJoin('users', 'users.id', 'members.user_id')
    .select(['users.id', 'users.email', 'users.name', 'members.role', 'members.created_at'])
    .where('members.workspace_id', '=', workspaceId);
  if (afterPosition !== undefined) query = query.where('users.email', '>', afterPosition);
  const members = await query
    .orderBy('users.email')
    .limit(limit + 1)
    .execute();
  const { rows, next } = pageOf(members, limit, ({ email }) => email);
  return { page: rows.map(toMemberInfo), next };
}

/** Returns a query for the data in `WorkspaceInfo`, with the column `personal_keys` for `accessCondition`. */
function workspaceInfoQuery(db: Db) {
  return db
    .selectFrom('workspaces')
    .select((eb) => [
      'id',
      'name',
      'personal_keys',
      'created_at',
      eb.fn.coalesce('updated_at', 'created_at').as('updated_at'),
      eb
        .selectFrom('members')
        .select(eb.fn.countAll().as('count'))
        .whereRef('members.workspace_id', '=', 'workspaces.id')
        .as('member_count'),
    ]);
}

/**
 * Returns a condition for the workspaces that the caller can access. With a personal key, these are only workspaces
 * that accept personal keys.
 */
function accessCondition({ kind, userId, workspaceId }: Pick<Principal, 'kind' | 'userId' | 'workspaceId'>) {
  if (kind === 'workspace') return sql<boolean>`id = ${workspaceId ?? ''}`;
  const keyFilter = kind === 'personal' ? sql`personal_keys = 1` : sql`1 = 1`;
  const ownWorkspaces = sql`select workspace_id from members where user_id = ${userId ?? ''}`;
  return sql<boolean>`id in (${ownWorkspaces}) and ${keyFilter}`;
}

interface WorkspaceInfoRow {
  id: string;
  name: string;
  created_at: string;
  updated_at: string;
  /** PostgreSQL returns counts as strings. */
  member_count: number | string | bigint | null;
}

function toWorkspaceInfo({
  id,
  name,
  created_at,
  updated_at,
  member_count,
}: WorkspaceInfoRow): WorkspaceInfo {
  return {
    ...{ id, name, color: colorOf(id), logoUrl: null },
    memberCount: Number(member_count),
    createdAt: created_at,
    updatedAt: updated_at,
  };
}

function colorOf(id: string): string {
  const [byte = 0] = createHash('sha256').update(id).digest();
  return COLORS[byte % COLORS.length] as string;
}

interface MemberRow {
  id: string;
  email: string;
  name: string;
  role: Role;
  created_at: string;
}

/** Returns the member. There are no organizations, so no member is external. */
function toMemberInfo({ id, email, name, role, created_at }: MemberRow): MemberInfo {
  return { userId: id, email, name, image: null, role, isExternal: false, joinedAt: created_at };
}
