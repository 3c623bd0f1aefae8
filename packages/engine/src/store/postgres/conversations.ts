import { sql } from 'kysely';
import { MAX_EXCHANGES } from '../stores.ts';
import type { ConversationKey, ConversationStore } from '../stores.ts';
import type { Database } from './database.ts';

/** Conversations in PostgreSQL. */
export class PostgresConversations implements ConversationStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async add(
    { tenant, id: conversation }: ConversationKey,
    { key, json }: { key: string; json: string },
  ): Promise<void> {
    const { queryBuilder } = this.#database;
    const insertResult = await this.#database.run(
      queryBuilder
        .insertInto('exchanges')
        .values({ tenant, conversation, key, chars: json.length, json })
        .onConflict((conflict) => conflict.doNothing()),
    );
    if (insertResult.changedRowCount === 0) return;
    const newestExcessPosition = queryBuilder
      .selectFrom('exchanges')
      .select('position')
      .where('tenant', '=', tenant)
      .where('conversation', '=', conversation)
      .orderBy('position', 'desc')
      .offset(MAX_EXCHANGES)
      .limit(1);
    await this.#database.run(
      queryBuilder
        .deleteFrom('exchanges')
        .where('tenant', '=', tenant)
        .where('conversation', '=', conversation)
        .where('position', '<=', newestExcessPosition),
    );
  }

  async newestExchanges({ tenant, id }: ConversationKey, maxChars: number): Promise<string[]> {
    const exchangesWithTotals = this.#database.queryBuilder
      .selectFrom('exchanges')
      .select(['position', 'json', sql<number>`sum(chars) OVER (ORDER BY position DESC)`.as('total')])
      .where('tenant', '=', tenant)
      .where('conversation', '=', id);
    const { rows } = await this.#database.run(
      this.#database.queryBuilder
        .selectFrom(exchangesWithTotals.as('counted'))
        .select('json')
        .where('total', '<=', maxChars)
        .orderBy('position'),
    );
    return rows.map(({ json }) => json);
  }

  async remove({ tenant, id }: ConversationKey): Promise<void> {
    const { queryBuilder } = this.#database;
    await this.#database.run(
      queryBuilder.deleteFrom('exchanges').where('tenant', '=', tenant).where('conversation', '=', id),
    );
  }

  async ids(tenant: string, limit: number): Promise<string[]> {
    const { queryBuilder } = this.#database;
    const firstId = queryBuilder
      .selectFrom('exchanges')
      .where('tenant', '=', tenant)
      .select(({ fn }) => fn.min<string | null>('conversation').as('id'));
    const nextId = firstId.where('conversation', '>', sql.ref<string>('found.id'));
    // Skips from id to id in the index instead of reading all exchanges.
    const query = sql<{ id: string }>`
      WITH RECURSIVE found (id) AS (
        ${firstId} UNION ALL SELECT ${nextId} FROM found WHERE id IS NOT NULL
      ) SELECT id FROM found WHERE id IS NOT NULL LIMIT ${limit}`;
    const { rows } = await this.#database.run({ compile: () => query.compile(queryBuilder) });
    return rows.map(({ id }) => id);
  }
}
