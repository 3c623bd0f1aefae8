import type { ValueStore } from '@heddle/core';
import { sql } from 'kysely';
import { valueKey } from '../value-key.ts';
import type { Database } from './database.ts';

const NOW = sql<Date>`clock_timestamp()`;
/** A value that was put since then is not said to be put once more. */
const LATELY = sql<Date>`clock_timestamp() - interval '10 minutes'`;
/** A value of this many characters is worth a question whether it is there already before it is sent. */
const ASK_FIRST_CHARS = 64 * 1024;

/** Values in PostgreSQL, a row each; the database puts large ones aside by itself. */
export class PostgresValueStore implements ValueStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async put(json: string): Promise<string> {
    const key = valueKey(json);
    if (json.length >= ASK_FIRST_CHARS && (await this.#putAgain(key))) return key;
    const query = this.#database.build
      .insertInto('stored_values')
      .values({ key, json })
      .onConflict((there) =>
        there.column('key').doUpdateSet({ put_at: NOW }).where(sql.ref('stored_values.put_at'), '<', LATELY),
      );
    await this.#database.run(query);
    return key;
  }

  async get(key: string): Promise<string | undefined> {
    const query = this.#database.build.selectFrom('stored_values').select('json').where('key', '=', key);
    return (await this.#database.run(query)).rows[0]?.json;
  }

  async prune(keys: readonly string[], unusedMs: number): Promise<void> {
    if (keys.length === 0) return;
    const query = this.#database.build
      .deleteFrom('stored_values')
      .where('key', 'in', keys)
      .where('put_at', '<=', before(unusedMs))
      .where((eb) =>
        eb.not(
          eb.exists(
            eb.selectFrom('value_uses').select('run').whereRef('value_uses.key', '=', 'stored_values.key'),
          ),
        ),
      );
    await this.#database.run(query);
  }

  /** Says that the value is put again, so that it is not pruned before it is used. False: it is not there. */
  async #putAgain(key: string): Promise<boolean> {
    const recorded = this.#database.build
      .updateTable('stored_values')
      .set({ put_at: NOW })
      .where('key', '=', key)
      .where('put_at', '<', LATELY);
    if ((await this.#database.run(recorded)).changed > 0) return true;
    const query = this.#database.build.selectFrom('stored_values').select('key').where('key', '=', key);
    return (await this.#database.run(query)).rows.length > 0;
  }
}

function before(ms: number) {
  return sql<Date>`clock_timestamp() - make_interval(secs => ${ms / 1000}::float8)`;
}
