import { createHmac, randomBytes, randomUUID } from 'node:crypto';
import type { Authenticator, Principal } from '@heddle/api';
import { afterCondition } from '../paging.ts';
import { compiledQuery } from './compiled-query.ts';
import type { Db } from './database.ts';
import type { ApiKeyRow } from './schema.ts';

/** The prefix of every key. Secret scanners recognize leaked keys by it. */
export const KEY_PREFIX = 'sk-heddle-';

/** 256 bits cannot be guessed, so hashes need no salt. */
const KEY_BYTES = 32;
const HINT_CHARACTERS = 4;
/** Minimum time between two updates of the time of the last use. */
const USE_UPDATE_INTERVAL_MS = 60_000;

/** The owner of a new key. */
export type KeyOwner = { userId: string } | { workspaceId: string };

/** The data of a key in lists: its row without the hash. */
export type ApiKeyInfo = Omit<ApiKeyRow, 'hash'>;

const INFO_COLUMNS = [
  ...(['id', 'kind', 'name', 'user_id', 'workspace_id', 'hint'] as const),
  ...(['created_at', 'expires_at', 'last_used_at', 'revoked_at'] as const),
] as const;

/** API keys, stored as HMACs: the database does not reveal them. */
export class KeyStore {
  readonly #db: Db;
  readonly #secret: string;
  readonly #findByHash: (hash: string) => Promise<ApiKeyRow[]>;

  constructor(db: Db, secret: string) {
    this.#db = db;
    this.#secret = secret;
    this.#findByHash = compiledQuery(db, (builder) =>
      builder.selectFrom('api_keys').selectAll().where('hash', '=', '').where('revoked_at', 'is', null),
    );
  }

  /** Creates a key. It cannot be read again. */
  async create(
    owner: KeyOwner,
    name: string,
    expiresAt: string | null = null,
    db: Db = this.#db,
  ): Promise<{ id: string; key: string }> {
    const key = KEY_PREFIX + randomBytes(KEY_BYTES).toString('base64url');
    const id = randomUUID();
    const isPersonal = 'userId' in owner;
    await db
      .insertInto('api_keys')
      .values({
        id,
        kind: isPersonal ? 'personal' : 'workspace',
        name,
        user_id: isPersonal ? owner.userId : null,
        workspace_id: isPersonal ? null : owner.workspaceId,
        hash: this.#hash(key),
        hint: key.slice(-HINT_CHARACTERS),
        created_at: new Date().toISOString(),
        expires_at: expiresAt,
        last_used_at: null,
        revoked_at: null,
      })
      .execute();
    return { id, key };
  }

  /**
   * Returns the row of the key, and records its use. Returns undefined for a key that is unknown, revoked, or expired
   * at `nowMs`.
   */
  async find(key: string, nowMs: number): Promise<ApiKeyRow | undefined> {
    if (!key.startsWith(KEY_PREFIX)) return undefined;
    // Not cached: a key that any process has revoked is refused from the next request on.
    const [row] = await this.#findByHash(this.#hash(key));
    if (!row || (row.expires_at !== null && Date.parse(row.expires_at) <= nowMs)) return undefined;
    await this.#recordUse(row, nowMs);
    return row;
  }

  /** Returns the principal of the key with this id; undefined if the key is unknown, revoked, or expired at `nowMs`. */
  async findById(id: string, nowMs: number): Promise<Principal | undefined> {
    const row = await this.#db
      .selectFrom('api_keys')
      .selectAll()
      .where('id', '=', id)
      .where('revoked_at', 'is', null)
      .executeTakeFirst();
    if (!row || (row.expires_at !== null && Date.parse(row.expires_at) <= nowMs)) return undefined;
    return principalOf(row);
  }

  async #recordUse(row: ApiKeyRow, nowMs: number): Promise<void> {
    if (row.last_used_at !== null && nowMs - Date.parse(row.last_used_at) < USE_UPDATE_INTERVAL_MS) return;
    await this.#db
      .updateTable('api_keys')
      .set({ last_used_at: new Date(nowMs).toISOString() })
      .where('id', '=', row.id)
      .execute();
  }

  /** Returns all keys, including revoked ones, oldest first. */
  async list(): Promise<ApiKeyInfo[]> {
    return this.#db.selectFrom('api_keys').select(INFO_COLUMNS).orderBy('created_at').orderBy('id').execute();
  }

  /**
   * Returns the keys of a workspace that are not revoked, oldest first. `after`: the creation time and the id of the
   * last key of the previous page.
   */
  async listByWorkspace(
    workspaceId: string,
    { limit, after }: { limit: number; after?: readonly [string, string] | undefined },
    db: Db = this.#db,
  ): Promise<ApiKeyInfo[]> {
    return db
      .selectFrom('api_keys')
      .select(INFO_COLUMNS)
      .where('workspace_id', '=', workspaceId)
      .where('revoked_at', 'is', null)
      .$if(after !== undefined, (query) =>
        query.where(afterCondition(['created_at', 'id'], after ?? [], 'asc')),
      )
      .orderBy('created_at')
      .orderBy('id')
      .limit(limit)
      .execute();
  }

  /**
   * Revokes the key, immediately in all processes. `workspaceId`: only if it is a key of this workspace. Returns false
   * for an unknown key, or a key that was revoked before.
   */
  async revoke(
    id: string,
    { workspaceId, db = this.#db }: { workspaceId?: string; db?: Db } = {},
  ): Promise<boolean> {
    const result = await db
      .updateTable('api_keys')
      .set({ revoked_at: new Date().toISOString() })
      .where('id', '=', id)
      .where('revoked_at', 'is', null)
      .$if(workspaceId !== undefined, (query) => query.where('workspace_id', '=', workspaceId ?? ''))
      .executeTakeFirst();
    return Number(result.numUpdatedRows) > 0;
  }

  #hash(key: string): string {
    return createHmac('sha256', this.#secret).update(key).digest('base64url');
  }
}

/** Returns an authenticator that accepts the API keys of the store and no other credentials. */
export function keyAuthenticator(keys: KeyStore, now: () => number = Date.now): Authenticator {
  return {
    async authenticate({ apiKey }) {
      const row = apiKey === undefined ? undefined : await keys.find(apiKey, now());
      return row && principalOf(row);
    },
  };
}

function principalOf(row: ApiKeyRow): Principal {
  return {
    kind: row.kind,
    credentialId: row.id,
    userId: row.user_id,
    workspaceId: row.workspace_id,
    scopes: ['api:read', 'api:write'],
    expiresAt: row.expires_at,
  };
}
