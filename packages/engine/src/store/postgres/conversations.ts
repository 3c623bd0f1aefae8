import { sql } from 'kysely';
import { KEPT_EXCHANGES } from '../stores.ts';
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
    const { build } = this.#database;
    const added = await this.#database.run(
      build
        .insertInto('exchanges')
        .values({ tenant, conversation, key, chars: json.length, json })
        .onConflict((conflict) => conflict.doNothing()),
    );
    if (added.changed === 0) return;
    const last = build
      .selectFrom('exchanges')
      .select('position')
      .where('tenant', '=', tenant)
      .where('conversation', '=', conversation)
      .orderBy('position', 'desc')
      .offset(KEPT_EXCHANGES)
      .limit(1);
    await this.#database.run(
      build
        .deleteFrom('exchanges')
        .where('tenant', '=', tenant)
        .where('conversation', '=', conversation)
        .where('position', '<=', last),
    );
  }

  async newest({ tenant, id }: ConversationKey, maxChars: number): Promise<string[]> {
    const counted = this.#database.build
      .selectFrom('exchanges')
      .select(['position', 'json', sql<number>`sum(chars) OVER (ORDER BY position DESC)`.as('total')])
      .where('tenant', '=', tenant)
      .where('conversation', '=', id);
    const { rows } = await this.#database.run(
      this.#database.build
        .selectFrom(counted.as('counted'))
        .select('json')
        .where('total', '<=', maxChars)
        .orderBy('position'),
    );
    return rows.map(({ json }) => json);
  }
}
