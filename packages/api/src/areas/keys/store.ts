import { createHmac, randomBytes, randomUUID } from 'node:crypto';
import { compiled } from '../../store/compiled.ts';
import type { Db } from '../../store/database.ts';
import type { ApiKeyRow } from '../../store/schema.ts';

/** Every key begins with it, so that leaked ones are found. */
export const KEY_PREFIX = 'sk-heddle-';

/** 256 bits: a key cannot be guessed, so that its hash needs no salt of its own. */
const KEY_BYTES = 32;
const HINT_CHARACTERS = 4;
/** The time of the last use is written at most this often. */
const USED_EVERY_MS = 60_000;

/** Whose a key is to be. */
export type KeyOwner = { userId: string } | { workspaceId: string };

/** A key as it is listed: never the key itself. */
export type ApiKeyInfo = Omit<ApiKeyRow, 'hash'>;

/** API keys, by a keyed hash: what is stored gives no key away. */
export class KeyStore {
  readonly #db: Db;
  readonly #secret: string;
  readonly #byHash: (hash: string) => Promise<ApiKeyRow[]>;

  constructor(db: Db, secret: string) {
    this.#db = db;
    this.#secret = secret;
    this.#byHash = compiled(db, (of) =>
      of.selectFrom('api_keys').selectAll().where('hash', '=', '').where('revoked_at', 'is', null),
    );
  }

  /** A new key; its text is given this once. */
  async create(
    owner: KeyOwner,
    name: string,
    expiresAt: string | null = null,
  ): Promise<{ id: string; key: string }> {
    const key = KEY_PREFIX + randomBytes(KEY_BYTES).toString('base64url');
    const id = randomUUID();
    const personal = 'userId' in owner;
    await this.#db
      .insertInto('api_keys')
      .values({
        id,
        kind: personal ? 'personal' : 'workspace',
        name,
        user_id: personal ? owner.userId : null,
        workspace_id: personal ? null : owner.workspaceId,
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

  /** The key's row, when it may still be used at `nowMs`. */
  async find(key: string, nowMs: number): Promise<ApiKeyRow | undefined> {
    if (!key.startsWith(KEY_PREFIX)) return undefined;
    // Asked for each request: a key that any process has revoked is refused from the next one on.
    const [row] = await this.#byHash(this.#hash(key));
    if (!row || (row.expires_at !== null && Date.parse(row.expires_at) <= nowMs)) return undefined;
    await this.#use(row, nowMs);
    return row;
  }

  async #use(row: ApiKeyRow, nowMs: number): Promise<void> {
    if (row.last_used_at !== null && nowMs - Date.parse(row.last_used_at) < USED_EVERY_MS) return;
    await this.#db
      .updateTable('api_keys')
      .set({ last_used_at: new Date(nowMs).toISOString() })
      .where('id', '=', row.id)
      .execute();
  }

  /** All keys, oldest first, the revoked ones too. */
  async list(): Promise<ApiKeyInfo[]> {
    return this.#db
      .selectFrom('api_keys')
      .select(['id', 'kind', 'name', 'user_id', 'workspace_id', 'hint'])
      .select(['created_at', 'expires_at', 'last_used_at', 'revoked_at'])
      .orderBy('created_at')
      .orderBy('id')
      .execute();
  }

  /** Revokes: from now on the key is refused, by every process. False when there is no such key, or it was revoked before. */
  async revoke(id: string): Promise<boolean> {
    const result = await this.#db
      .updateTable('api_keys')
      .set({ revoked_at: new Date().toISOString() })
      .where('id', '=', id)
      .where('revoked_at', 'is', null)
      .executeTakeFirst();
    return Number(result.numUpdatedRows) > 0;
  }

  #hash(key: string): string {
    return createHmac('sha256', this.#secret).update(key).digest('base64url');
  }
}
