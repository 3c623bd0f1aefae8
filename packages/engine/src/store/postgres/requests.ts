import { randomUUID } from 'node:crypto';
import type { Clock, Json } from '@heddle/core';
import { sql } from 'kysely';
import type { NewControlRequest, ControlOutcome, ControlRequest } from '../control.ts';
import { parseStored } from '../errors.ts';
import type { RequestStore } from '../leases.ts';
import type { Database } from './database.ts';

/** Nobody waits longer for an outcome. */
const KEPT_MS = 24 * 60 * 60 * 1000;

/** Requests in PostgreSQL, a row each until whoever made it has read the outcome. */
export class PostgresRequestStore implements RequestStore {
  readonly #database: Database;
  readonly #clock: Pick<Clock, 'now'>;

  constructor(database: Database, clock: Pick<Clock, 'now'>) {
    this.#database = database;
    this.#clock = clock;
  }

  async add({ runId, kind, payload }: NewControlRequest): Promise<string> {
    const id = randomUUID();
    const row = { id, run_id: runId, kind, payload: JSON.stringify(payload), created_ms: this.#clock.now() };
    await this.#database.run(this.#database.build.insertInto('requests').values(row));
    return id;
  }

  async prune(): Promise<void> {
    const query = this.#database.build
      .deleteFrom('requests')
      .where('created_ms', '<', this.#clock.now() - KEPT_MS);
    await this.#database.run(query);
  }

  async outcome(id: string): Promise<ControlOutcome | undefined> {
    const query = this.#database.build.selectFrom('requests').select('outcome').where('id', '=', id);
    const text = (await this.#database.run(query)).rows[0]?.outcome;
    return text == null ? undefined : parseStored(text, `outcome of request "${id}"`);
  }

  async remove(id: string): Promise<void> {
    await this.#database.run(this.#database.build.deleteFrom('requests').where('id', '=', id));
  }

  async pending(owner: string): Promise<ControlRequest[]> {
    const query = this.#database.build
      .selectFrom('requests')
      .innerJoin('runs', 'runs.run_id', 'requests.run_id')
      .select([
        'requests.id',
        'requests.run_id as runId',
        'requests.kind',
        'requests.payload',
        'requests.created_ms as createdMs',
      ])
      .where('requests.outcome', 'is', sql.lit(null))
      .where('runs.owner', '=', owner)
      .orderBy('requests.position');
    const { rows } = await this.#database.run(query);
    return rows.map((row) => ({ ...row, payload: parseStored<Json>(row.payload, `request "${row.id}"`) }));
  }

  async settle(id: string, outcome: ControlOutcome): Promise<void> {
    const query = this.#database.build
      .updateTable('requests')
      .set({ outcome: JSON.stringify(outcome) })
      .where('id', '=', id);
    await this.#database.run(query);
  }
}
