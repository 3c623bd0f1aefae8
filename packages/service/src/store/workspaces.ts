import { randomUUID } from 'node:crypto';
import type { Principal, Role } from '@heddle/api';
import type { Access, AccessDecision } from '@heddle/api/ports';
import { compiledQuery } from './compiled-query.ts';
import { isUniqueViolation } from './database.ts';
import type { Db } from './database.ts';

/** The role of a user in a workspace. */
export interface Membership {
  role: Role;
  /** Whether the workspace accepts personal keys. */
  personalKeys: boolean;
}

const ROLE_RANKS: Record<Role, number> = { read: 1, write: 2, admin: 3 };

/** Workspaces, users, and memberships. */
export class WorkspaceStore implements Access {
  readonly #db: Db;
  readonly #findMemberships: (
    workspaceId: string,
    userId: string,
  ) => Promise<{ role: Role; personal_keys: number }[]>;

  constructor(db: Db) {
    this.#db = db;
    this.#findMemberships = compiledQuery(db, (builder) =>
      builder
        .selectFrom('members')
        .innerJoin('workspaces', 'workspaces.id', 'members.workspace_id')
        .select(['members.role', 'workspaces.personal_keys'])
        .where('members.workspace_id', '=', '')
        .where('members.user_id', '=', ''),
    );
  }

  async createUser(user: { email: string; name: string }): Promise<string> {
    const id = randomUUID();
    const created_at = new Date().toISOString();
    await this.#db
      .insertInto('users')
      .values({ id, ...user, created_at })
      .execute();
    return id;
  }

  /** Returns the id if it belongs to a user; undefined otherwise. */
  async findUserId(id: string): Promise<string | undefined> {
    return (await this.#db.selectFrom('users').select('id').where('id', '=', id).executeTakeFirst())?.id;
  }

  /** Returns the id of the user with exactly this email address; undefined if there is none. */
  async findUserIdByEmail(email: string): Promise<string | undefined> {
    return (await this.#db.selectFrom('users').select('id').where('email', '=', email).executeTakeFirst())
      ?.id;
  }

  async createWorkspace(name: string, adminId: string): Promise<string> {
    const id = randomUUID();
    const created_at = new Date().toISOString();
    await this.#db.transaction().execute(async (db) => {
      await db.insertInto('workspaces').values({ id, name, personal_keys: 1, created_at }).execute();
      await db
        .insertInto('members')
        .values({ workspace_id: id, user_id: adminId, role: 'admin', created_at })
        .execute();
    });
    return id;
  }

  /** Adds the user as a member with this role, or changes the member's role. */
  async setMember(workspaceId: string, userId: string, role: Role): Promise<void> {
    await this.#db
      .insertInto('members')
      .values({ workspace_id: workspaceId, user_id: userId, role, created_at: new Date().toISOString() })
      .onConflict((conflict) => conflict.columns(['workspace_id', 'user_id']).doUpdateSet({ role }))
      .execute();
  }

  /** Allows or forbids personal keys in the workspace, from the next request on. */
  async setPersonalKeysAllowed(workspaceId: string, isAllowed: boolean): Promise<void> {
    await this.#db
      .updateTable('workspaces')
      .set({ personal_keys: isAllowed ? 1 : 0, updated_at: new Date().toISOString() })
      .where('id', '=', workspaceId)
      .execute();
  }

  async check({ kind, userId }: Principal, workspaceId: string, role: Role): Promise<AccessDecision> {
    const membership = userId === null ? undefined : await this.findMembership(workspaceId, userId);
    if (!membership) return 'concealed';
    if (kind === 'personal' && !membership.personalKeys) return 'PERSONAL_API_KEYS_DISABLED';
    return ROLE_RANKS[membership.role] < ROLE_RANKS[role] ? 'INSUFFICIENT_WORKSPACE_ROLE' : 'granted';
  }

  async listWorkspaceIds({ userId }: Principal): Promise<readonly string[]> {
    if (userId === null) return [];
    const rows = await this.#db
      .selectFrom('members')
      .select('workspace_id')
      .where('user_id', '=', userId)
      .execute();
    return rows.map((row) => row.workspace_id);
  }

  /** Returns the membership of the user in the workspace; undefined when the user is not a member. */
  async findMembership(workspaceId: string, userId: string): Promise<Membership | undefined> {
    const [row] = await this.#findMemberships(workspaceId, userId);
    return row && { role: row.role, personalKeys: row.personal_keys === 1 };
  }

  /** Returns all workspaces, oldest first. */
  async list(): Promise<{ id: string; name: string; personalKeys: boolean }[]> {
    const rows = await this.#db
      .selectFrom('workspaces')
      .select(['id', 'name', 'personal_keys'])
      .orderBy('created_at')
      .orderBy('id')
      .execute();
    return rows.map(({ personal_keys: allowed, ...row }) => ({ ...row, personalKeys: allowed === 1 }));
  }

  /** Returns the id of the oldest workspace; undefined when there is none. */
  async findOldestId(): Promise<string | undefined> {
    return (
      await this.#db
        .selectFrom('workspaces')
        .select('id')
        .orderBy('created_at')
        .orderBy('id')
        .limit(1)
        .executeTakeFirst()
    )?.id;
  }

  /**
   * Creates the first user and a workspace with that user as admin. Returns undefined if a user exists already.
   */
  async bootstrap(): Promise<{ userId: string; workspaceId: string } | undefined> {
    if (await this.findFirstUser()) return undefined;
    try {
      const userId = await this.createUser({ email: 'admin@heddle.local', name: 'Admin' });
      return { userId, workspaceId: await this.createWorkspace('Default', userId) };
    } catch (error) {
      // Another process has created the user at the same time: email addresses are unique.
      if (isUniqueViolation(error)) return undefined;
      throw error;
    }
  }

  /** Returns the oldest user. */
  async findFirstUser(): Promise<{ id: string; email: string } | undefined> {
    return this.#db
      .selectFrom('users')
      .select(['id', 'email'])
      .orderBy('created_at')
      .orderBy('id')
      .limit(1)
      .executeTakeFirst();
  }
}
