import type { Entry, RunHeader, RunRecord } from '@heddle/core';
import { sql } from 'kysely';
import type { QueryCreator } from 'kysely';
import { ProcessRemovedError } from '../leases.ts';
import type { Lease, LeaseStore } from '../leases.ts';
import type { TailableRunStore } from '../stores.ts';
import type { Database } from './database.ts';
import { FOREIGN_KEY_VIOLATION, sqlState } from './errors.ts';
import { LeasedRunStore } from './leased-runs.ts';
import { insertRunQuery, rowOf } from './run-queries.ts';
import type { Tables } from './schema.ts';

const IS_FREE = sql<boolean>`owner IS NULL AND NOT ended AND NOT resting AND NOT elsewhere`;

/** The current time of the database; `now()` would be the start of the transaction, which may have waited. */
const NOW = sql<Date>`clock_timestamp()`;

/** Leases in PostgreSQL. Each call is one statement and therefore atomic. */
export class PostgresLeaseStore implements LeaseStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async join(owner: string, leaseMs: number): Promise<void> {
    const expiryTime = timeFromNow(leaseMs);
    const query = this.#database.queryBuilder
      .insertInto('processes')
      .values({ id: owner, since: NOW, expires: expiryTime })
      .onConflict((conflict) => conflict.column('id').doUpdateSet({ expires: expiryTime }));
    await this.#database.run(query, undefined, { urgent: true });
  }

  async renew(owner: string, leaseMs: number): Promise<boolean> {
    const query = this.#database.queryBuilder
      .updateTable('processes')
      .set({ expires: timeFromNow(leaseMs) })
      .where('id', '=', owner);
    return (await this.#database.run(query, undefined, { urgent: true })).changedRowCount === 1;
  }

  async leave(owner: string): Promise<void> {
    await this.#database.run(this.#database.queryBuilder.deleteFrom('processes').where('id', '=', owner));
  }

  async removeExpiredOwners(): Promise<void> {
    await this.#database.run(this.#database.queryBuilder.deleteFrom('processes').where('expires', '<=', NOW));
  }

  async claim(owner: string, limit: number): Promise<Lease[]> {
    const { queryBuilder } = this.#database;
    const query = queryBuilder
      .with('claimed', (db) =>
        db
          .selectFrom('runs as r')
          .select('r.number')
          .where(IS_FREE)
          .where((eb) =>
            eb.not(
              eb.exists(
                eb
                  .selectFrom('runs as p')
                  .select('p.number')
                  .whereRef('p.run_id', '=', 'r.parent')
                  .where('p.ended', '=', sql.lit(false)),
              ),
            ),
          )
          .orderBy('r.created_ms')
          .orderBy('r.run_id')
          .limit(fairShare(db, limit))
          .forNoKeyUpdate()
          .skipLocked(),
      )
      .updateTable('runs')
      .from('claimed')
      .set((eb) => ({ owner, epoch: eb('epoch', '+', 1) }))
      .whereRef('runs.number', '=', 'claimed.number')
      .returning(['runs.run_id as runId', 'runs.epoch']);
    const { rows } = await this.#database.run(query, translateError);
    return rows.map((row) => ({ ...row, owner }));
  }

  async acquire(owner: string, runId: string): Promise<Lease | undefined> {
    const query = this.#database.queryBuilder
      .updateTable('runs')
      .set((eb) => ({ owner, epoch: eb('epoch', '+', 1), resting: false }))
      .where('run_id', '=', runId)
      .where('ended', '=', sql.lit(false))
      .where('elsewhere', '=', sql.lit(false))
      .where((eb) => eb.or([eb('owner', 'is', null), eb('owner', '=', owner)]))
      .returning('epoch');
    const [row] = (await this.#database.run(query, translateError)).rows;
    return row && { runId, owner, epoch: row.epoch };
  }

  async findUnownedRuns(runIds: readonly string[]): Promise<string[]> {
    const { queryBuilder } = this.#database;
    const liveProcesses = queryBuilder.selectFrom('processes').select('id').where('expires', '>', NOW);
    const query = queryBuilder
      .selectFrom('runs')
      .select('run_id as runId')
      .where('run_id', 'in', runIds)
      .where((eb) => eb.and([eb.not('ended'), eb.not('resting'), eb.not('elsewhere')]))
      .where((eb) => eb.or([eb('owner', 'is', null), eb.not(eb('owner', 'in', liveProcesses))]));
    return (await this.#database.run(query)).rows.map(({ runId }) => runId);
  }

  async release({ runId, owner, epoch }: Lease): Promise<void> {
    const query = this.#database.queryBuilder
      .updateTable('runs')
      .set({ owner: null, resting: true })
      .where('run_id', '=', runId)
      .where('owner', '=', owner)
      .where('epoch', '=', epoch)
      .where('ended', '=', sql.lit(false));
    await this.#database.run(query);
  }

  async create(
    owner: string,
    header: RunHeader,
    firstEntry: Entry,
    record: RunRecord,
  ): Promise<Lease | undefined> {
    const query = insertRunQuery(
      this.#database.queryBuilder,
      { ...rowOf(header, record), owner, epoch: 1 },
      firstEntry,
    );
    const { changedRowCount } = await this.#database.run(query, translateError);
    return changedRowCount === 1 ? { runId: header.runId, owner, epoch: 1 } : undefined;
  }

  runStore(lease: Lease): TailableRunStore {
    return new LeasedRunStore(this.#database, lease);
  }
}

/**
 * Returns a query for the number of free runs that one process takes, so that all processes get an equal share; at
 * least 1, at most `limit`.
 */
function fairShare(db: QueryCreator<Tables>, limit: number) {
  const processCountQuery = db.selectFrom('processes').select(({ fn }) => fn.countAll<number>().as('count'));
  const shareExpression = sql<number>`ceil(count(*)::numeric / greatest(1, ${processCountQuery}))`;
  return db
    .selectFrom('runs')
    .select(sql<number>`greatest(1, least(${limit}::bigint, ${shareExpression}))::bigint`.as('share'))
    .where(IS_FREE);
}

function timeFromNow(ms: number) {
  return sql<Date>`clock_timestamp() + make_interval(secs => ${ms / 1000}::float8)`;
}

/** Returns ProcessRemovedError for a violated foreign key: the owner of a run must be in `processes`. */
function translateError(error: unknown): unknown {
  return sqlState(error) === FOREIGN_KEY_VIOLATION ? new ProcessRemovedError() : error;
}
