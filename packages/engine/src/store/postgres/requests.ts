import type { Clock } from '@heddle/core';
import { sql } from 'kysely';
import { OUTCOME_RETENTION_MS, readControlRow, readOutcome, toControlRow } from '../control.ts';
import type { ControlOutcome, ControlRequest, NewControlRequest, RequestStore } from '../control.ts';
import type { Database } from './database.ts';

/** Control requests in PostgreSQL, one row each until the requester has read the outcome. */
export class PostgresRequestStore implements RequestStore {
  readonly #database: Database;
  readonly #clock: Pick<Clock, 'now'>;

  constructor(database: Database, clock: Pick<Clock, 'now'>) {
    this.#database = database;
    this.#clock = clock;
  }

  async add(request: NewControlRequest): Promise<string> {
    const { id, runId, kind, payload, createdMs } = toControlRow(request, this.#clock.now());
    const row = { id, run_id: runId, kind, payload, created_ms: createdMs };
    await this.#database.run(this.#database.queryBuilder.insertInto('requests').values(row));
    return id;
  }

  async prune(): Promise<void> {
    const query = this.#database.queryBuilder
      .deleteFrom('requests')
      .where('created_ms', '<', this.#clock.now() - OUTCOME_RETENTION_MS);
    await this.#database.run(query);
  }

  async outcome(id: string): Promise<ControlOutcome | undefined> {
    const query = this.#database.queryBuilder.selectFrom('requests').select('outcome').where('id', '=', id);
    return readOutcome(id, (await this.#database.run(query)).rows[0]?.outcome);
  }

  async remove(id: string): Promise<void> {
    await this.#database.run(this.#database.queryBuilder.deleteFrom('requests').where('id', '=', id));
  }

  async openRequests(owner?: string): Promise<ControlRequest[]> {
    const query = this.#database.queryBuilder
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
      .orderBy('requests.position');
    const ownerQuery = owner === undefined ? query : query.where('runs.owner', '=', owner);
    return (await this.#database.run(ownerQuery)).rows.map(readControlRow);
  }

  async settle(id: string, outcome: ControlOutcome): Promise<void> {
    const query = this.#database.queryBuilder
      .updateTable('requests')
      .set({ outcome: JSON.stringify(outcome) })
      .where('id', '=', id)
      .where('outcome', 'is', null);
    await this.#database.run(query);
  }
}
