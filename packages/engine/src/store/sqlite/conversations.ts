import type { DatabaseSync } from 'node:sqlite';
import { MAX_EXCHANGES } from '../stores.ts';
import type { ConversationKey, ConversationStore } from '../stores.ts';
import type { GroupCommit } from './commit.ts';
import { lazyStatements, withFileErrors } from './database.ts';

function prepare(db: DatabaseSync) {
  return {
    add: db.prepare(
      'INSERT OR IGNORE INTO exchanges (tenant, conversation, key, chars, json) VALUES (?, ?, ?, ?, ?)',
    ),
    trim: db.prepare(`
      DELETE FROM exchanges WHERE tenant = ? AND conversation = ? AND position <= (
        SELECT position FROM exchanges WHERE tenant = ? AND conversation = ?
        ORDER BY position DESC LIMIT 1 OFFSET ${MAX_EXCHANGES})`),
    newestExchanges: db.prepare(`
      SELECT json FROM (
        SELECT position, json, sum(chars) OVER (ORDER BY position DESC) AS total
        FROM exchanges WHERE tenant = ? AND conversation = ?
      ) WHERE total <= ? ORDER BY position`),
    remove: db.prepare('DELETE FROM exchanges WHERE tenant = ? AND conversation = ?'),
    // Skips from id to id in the index instead of reading all exchanges.
    ids: db.prepare(`
      WITH RECURSIVE found (id) AS (
        SELECT min(conversation) FROM exchanges WHERE tenant = $tenant
        UNION ALL
        SELECT (SELECT min(conversation) FROM exchanges WHERE tenant = $tenant AND conversation > id)
        FROM found WHERE id IS NOT NULL
      ) SELECT id FROM found WHERE id IS NOT NULL LIMIT $limit`),
  };
}

/** Conversations in the data file. */
export class SqliteConversations implements ConversationStore {
  /** Prepared at the first use: most engines have no conversations. */
  readonly #statements: () => ReturnType<typeof prepare>;
  readonly #file: string;
  readonly #commit: GroupCommit;

  constructor(db: DatabaseSync, file: string, commit: GroupCommit) {
    this.#statements = lazyStatements(db, prepare);
    this.#file = file;
    this.#commit = commit;
  }

  add({ tenant, id }: ConversationKey, { key, json }: { key: string; json: string }): Promise<void> {
    return this.#commit.run(() => {
      const { changes } = this.#statements().add.run(tenant, id, key, json.length, json);
      if (changes === 1) this.#statements().trim.run(tenant, id, tenant, id);
    });
  }

  newestExchanges({ tenant, id }: ConversationKey, maxChars: number): string[] {
    const rows = withFileErrors(this.#file, () =>
      this.#statements().newestExchanges.all(tenant, id, maxChars),
    );
    return rows.map(({ json }) => json as string);
  }

  async remove({ tenant, id }: ConversationKey): Promise<void> {
    await this.#commit.run(() => {
      this.#statements().remove.run(tenant, id);
    });
  }

  ids(tenant: string, limit: number): string[] {
    const rows = withFileErrors(this.#file, () => this.#statements().ids.all({ tenant, limit }));
    return rows.map(({ id }) => id as string);
  }
}
