import { sql } from 'kysely';
import { toStoredChange } from '../stored-change.ts';
import type { RunChangeStore, StoredChange } from '../stores.ts';
import type { Database } from './database.ts';

/** Changes to runs, in PostgreSQL. */
export class PostgresRunChanges implements RunChangeStore {
  readonly #database: Database;
  #hasBegun = false;

  constructor(database: Database) {
    this.#database = database;
  }

  async begin(): Promise<void> {
    if (!this.#hasBegun) await this.#begin();
    this.#hasBegun = true;
  }

  async #begin(): Promise<void> {
    const query = this.#database.queryBuilder.selectFrom('run_feed').select('seeded');
    const [feed] = (await this.#database.run(query)).rows;
    if (feed?.seeded) return;
    const { schema } = this.#database.location;
    const table = (name: string): string => `"${schema.replaceAll('"', '""')}".${name}`;
    await this.#database.transaction(async (client) => {
      // Waits for transactions that change runs and do not see the new row, so that none of their changes is missed.
      await client.query(`LOCK TABLE ${table('runs')} IN SHARE ROW EXCLUSIVE MODE`);
      await client.query(
        `INSERT INTO ${table('run_feed')} (id, seeded) VALUES (1, false) ON CONFLICT DO NOTHING`,
      );
    });
    // A separate transaction, because adding many runs takes a while, and the lock would block new runs.
    await this.#database.transaction(async (client) => {
      const { rowCount } = await client.query(
        `UPDATE ${table('run_feed')} SET seeded = true WHERE NOT seeded`,
      );
      if (rowCount === 1)
        await client.query(
          `INSERT INTO ${table('run_changes')} (run_id) SELECT run_id FROM ${table('runs')} ORDER BY number`,
        );
    });
  }

  async read(limit: number): Promise<StoredChange[]> {
    const query = this.#database.queryBuilder
      .selectFrom('run_changes')
      .leftJoin('runs', 'runs.run_id', 'run_changes.run_id')
      .select(['run_changes.position', 'run_changes.run_id', 'runs.header', 'runs.record'])
      .orderBy('run_changes.position')
      .limit(limit);
    const { rows } = await this.#database.run(query);
    return rows.map(toStoredChange);
  }

  async acknowledge(positions: readonly number[]): Promise<void> {
    const query = this.#database.queryBuilder
      .deleteFrom('run_changes')
      .where(sql<boolean>`position = any(${positions}::bigint[])`);
    await this.#database.run(query);
  }

  async bytesOf(runIds: readonly string[]): Promise<Map<string, number>> {
    const query = this.#database.queryBuilder
      .selectFrom('runs')
      .select((eb) => {
        const sums = [
          eb.selectFrom('journal').select(byteSum('entry')).whereRef('run', '=', 'runs.number'),
          eb.selectFrom('logs').select(byteSum('log')).whereRef('run', '=', 'runs.number'),
          eb.selectFrom('steps').select(byteSum('result')).whereRef('run', '=', 'runs.number'),
          eb
            .selectFrom('value_uses')
            .innerJoin('stored_values', 'stored_values.key', 'value_uses.key')
            .select(byteSum('json'))
            .whereRef('run', '=', 'runs.number'),
        ].map((query) => sql`coalesce((${query}), 0)`);
        const ownBytes = sql`octet_length(runs.header) + coalesce(octet_length(runs.record), 0)`;
        return ['run_id', sql<number>`(${sql.join([ownBytes, ...sums], sql` + `)})::bigint`.as('bytes')];
      })
      .where(sql<boolean>`run_id = any(${runIds}::text[])`);
    const { rows } = await this.#database.run(query);
    return new Map(rows.map(({ run_id: runId, bytes }) => [runId, bytes]));
  }
}

function byteSum(column: string) {
  return sql<number>`sum(octet_length(${sql.ref(column)}))`.as('bytes');
}
