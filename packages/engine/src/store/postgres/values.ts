import type { ValueStore } from '@heddle/core';
import { valueKey } from '../value-key.ts';
import type { Database } from './database.ts';

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
    if (json.length >= ASK_FIRST_CHARS && (await this.#has(key))) return key;
    const query = this.#database.build
      .insertInto('stored_values')
      .values({ key, json })
      .onConflict((there) => there.column('key').doNothing());
    await this.#database.run(query);
    return key;
  }

  async get(key: string): Promise<string | undefined> {
    const query = this.#database.build.selectFrom('stored_values').select('json').where('key', '=', key);
    return (await this.#database.run(query)).rows[0]?.json;
  }

  async #has(key: string): Promise<boolean> {
    const query = this.#database.build.selectFrom('stored_values').select('key').where('key', '=', key);
    return (await this.#database.run(query)).rows.length > 0;
  }
}
