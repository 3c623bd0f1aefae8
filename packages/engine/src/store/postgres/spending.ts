import type { NewReservation, SpendingRefusal, SpendingStore } from '../spending.ts';
import type { Database, QueryRunner } from './database.ts';

/**
 * Spending totals in PostgreSQL. Accounts are locked in the order of their ids, so that transactions cannot deadlock.
 */
export class PostgresSpending implements SpendingStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  reserve(reservation: NewReservation): Promise<SpendingRefusal | undefined> {
    const { id, accounts, maxMicros, expiredMicros, nowMs, expiresMs } = reservation;
    return this.#database.runTransaction(async (run) => {
      const totals = new Map<string, number>();
      for (const account of accounts.toSorted((one, other) => (one.id < other.id ? -1 : 1))) {
        await this.#lock(run, account);
        totals.set(account.id, await this.#expire(run, account.id, nowMs));
      }
      const totalOf = (account: string): number => totals.get(account) ?? 0;
      const exceededAccount = accounts.find((account) => totalOf(account.id) + maxMicros > account.capMicros);
      if (exceededAccount) return { account: exceededAccount.id, micros: totalOf(exceededAccount.id) };
      const { queryBuilder } = this.#database;
      for (const account of accounts) {
        await this.#add(run, account.id, maxMicros);
        await run(
          queryBuilder.insertInto('spending_calls').values({
            id,
            account: account.id,
            counted: maxMicros,
            least: expiredMicros,
            expires_ms: expiresMs,
          }),
        );
      }
      return undefined;
    });
  }

  async renew(
    id: string,
    { expiredMicros, expiresMs }: { expiredMicros: number; expiresMs: number },
  ): Promise<void> {
    await this.#database.run(
      this.#database.queryBuilder
        .updateTable('spending_calls')
        .set({ least: expiredMicros, expires_ms: expiresMs })
        .where('id', '=', id)
        .where('expires_ms', 'is not', null),
    );
  }

  async settle(id: string, micros: number): Promise<void> {
    const { queryBuilder } = this.#database;
    await this.#database.runTransaction(async (run) => {
      const accountsQuery = queryBuilder.selectFrom('spending_calls').select('account').where('id', '=', id);
      await run(
        queryBuilder
          .selectFrom('spending')
          .select('account')
          .where('account', 'in', accountsQuery)
          .orderBy('account')
          .forUpdate(),
      );
      const settledCalls = await run(
        queryBuilder.deleteFrom('spending_calls').where('id', '=', id).returning(['account', 'counted']),
      );
      for (const { account, counted } of settledCalls) await this.#add(run, account, micros - counted);
    });
  }

  async totalOf(account: string): Promise<number> {
    const query = this.#database.queryBuilder
      .selectFrom('spending')
      .select('micros')
      .where('account', '=', account);
    const { rows } = await this.#database.run(query);
    return rows[0]?.micros ?? 0;
  }

  async prune(nowMs: number): Promise<void> {
    const { queryBuilder } = this.#database;
    await this.#database.run(queryBuilder.deleteFrom('spending').where('until_ms', '<=', nowMs));
    await this.#database.run(
      queryBuilder
        .deleteFrom('spending_calls')
        .where('account', 'not in', queryBuilder.selectFrom('spending').select('account')),
    );
  }

  /** Creates the account if it is missing, and locks it. */
  async #lock(run: QueryRunner, { id, retainUntilMs }: { id: string; retainUntilMs: number }): Promise<void> {
    await run(
      this.#database.queryBuilder
        .insertInto('spending')
        .values({ account: id, micros: 0, until_ms: retainUntilMs })
        .onConflict((conflict) => conflict.column('account').doUpdateSet({ until_ms: retainUntilMs })),
    );
  }

  /** From now on, counts only `least` of expired reservations. Returns the total of the account. */
  async #expire(run: QueryRunner, account: string, nowMs: number): Promise<number> {
    const { queryBuilder } = this.#database;
    const expiredCallsQuery = queryBuilder
      .selectFrom('spending_calls')
      .select(['id', 'counted', 'least'])
      .where('account', '=', account)
      .where('expires_ms', '<=', nowMs);
    for (const { id, counted, least } of await run(expiredCallsQuery)) {
      await this.#add(run, account, least - counted);
      await run(
        queryBuilder
          .updateTable('spending_calls')
          .set({ counted: least, expires_ms: null })
          .where('id', '=', id)
          .where('account', '=', account),
      );
    }
    const [row] = await run(
      queryBuilder.selectFrom('spending').select('micros').where('account', '=', account),
    );
    return row?.micros ?? 0;
  }

  async #add(run: QueryRunner, account: string, micros: number): Promise<void> {
    await run(
      this.#database.queryBuilder
        .updateTable('spending')
        .set((eb) => ({ micros: eb('micros', '+', micros) }))
        .where('account', '=', account),
    );
  }
}
