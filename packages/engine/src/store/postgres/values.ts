import type { ValueStore } from '@heddle/core';
import { sql } from 'kysely';
import { valueKey } from '../value-key.ts';
import type { Database } from './database.ts';

const NOW = sql<Date>`clock_timestamp()`;
/** `put_at` is updated only if it is older than this. */
const TOUCH_THRESHOLD = sql<Date>`clock_timestamp() - interval '10 minutes'`;
/** For longer values, a query checks whether the value exists before the value is sent. */
const EXISTENCE_CHECK_MIN_CHARS = 64 * 1024;

/** Values in PostgreSQL, one row each. The database itself stores large values out of line. */
export class PostgresValueStore implements ValueStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async put(json: string): Promise<string> {
    const key = valueKey(json);
    if (json.length >= EXISTENCE_CHECK_MIN_CHARS && (await this.#touch(key))) return key;
    const query = this.#database.queryBuilder
      .insertInto('stored_values')
      .values({ key, json })
      .onConflict((conflict) =>
        conflict
          .column('key')
          .doUpdateSet({ put_at: NOW })
          .where(sql.ref('stored_values.put_at'), '<', TOUCH_THRESHOLD),
      );
    await this.#database.run(query);
    return key;
  }

  async get(key: string): Promise<string | undefined> {
    const query = this.#database.queryBuilder
      .selectFrom('stored_values')
      .select('json')
      .where('key', '=', key);
    return (await this.#database.run(query)).rows[0]?.json;
  }

  async prune(keys: readonly string[], unusedMs: number): Promise<void> {
    if (keys.length === 0) return;
    const query = this.#database.queryBuilder
      .deleteFrom('stored_values')
      .where('key', 'in', keys)
      .where('put_at', '<=', timeAgo(unusedMs))
      .where((eb) =>
        eb.not(
          eb.exists(
            eb.selectFrom('value_uses').select('run').whereRef('value_uses.key', '=', 'stored_values.key'),
          ),
        ),
      );
    await this.#database.run(query);
  }

  /** Updates `put_at`, so that the value is not pruned before it is used. Returns false if the value is missing. */
  async #touch(key: string): Promise<boolean> {
    const touchQuery = this.#database.queryBuilder
      .updateTable('stored_values')
      .set({ put_at: NOW })
      .where('key', '=', key)
      .where('put_at', '<', TOUCH_THRESHOLD);
    if ((await this.#database.run(touchQuery)).changedRowCount > 0) return true;
    const query = this.#database.queryBuilder
      .selectFrom('stored_values')
      .select('key')
      .where('key', '=', key);
    return (await this.#database.run(query)).rows.length > 0;
  }
}

function timeAgo(ms: number) {
  return sql<Date>`clock_timestamp() - make_interval(secs => ${ms / 1000}::float8)`;
}
