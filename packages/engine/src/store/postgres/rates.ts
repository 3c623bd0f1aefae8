import { isUnlimited, stateAfter, INITIAL_RATE_STATE, waitMsFor } from '../rates.ts';
import type { RateDemand, RateState, RateStore } from '../rates.ts';
import type { Database, QueryRunner } from './database.ts';

/** Rate limit states in PostgreSQL, by key. */
export class PostgresRates implements RateStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async take(key: string, demand: RateDemand): Promise<number> {
    if (isUnlimited(demand)) {
      const { rows } = await this.#database.run(this.#stateQuery(key));
      return waitMsFor(rows[0] ?? INITIAL_RATE_STATE, demand);
    }
    return this.#change(key, async (state, set) => {
      const waitMs = waitMsFor(state, demand);
      if (waitMs === 0) await set(stateAfter(state, demand));
      return waitMs;
    });
  }

  async correctTokens(key: string, tokensMs: number): Promise<void> {
    await this.#database.run(
      this.#database.queryBuilder
        .updateTable('rates')
        .set((eb) => ({ tokens_ms: eb('tokens_ms', '+', tokensMs) }))
        .where('key', '=', key),
    );
  }

  async pauseKey(key: string, untilMs: number): Promise<void> {
    await this.#change(key, (state, set) =>
      set({ ...state, blockedUntilMs: Math.max(state.blockedUntilMs, Math.ceil(untilMs)) }),
    );
  }

  async prune(beforeMs: number): Promise<void> {
    await this.#database.run(
      this.#database.queryBuilder
        .deleteFrom('rates')
        .where('requests_ms', '<', beforeMs)
        .where('tokens_ms', '<', beforeMs)
        .where('blocked_ms', '<', beforeMs),
    );
  }

  #stateQuery(key: string) {
    return this.#database.queryBuilder
      .selectFrom('rates')
      .select(['requests_ms as nextRequestMs', 'tokens_ms as nextTokenMs', 'blocked_ms as blockedUntilMs'])
      .where('key', '=', key);
  }

  /** Calls `work` with the state of a key. No other process changes the state until `work` resolves. */
  #change<T>(key: string, work: (state: RateState, set: (state: RateState) => Promise<void>) => Promise<T>) {
    const { queryBuilder } = this.#database;
    return this.#database.runTransaction(async (run: QueryRunner) => {
      await run(
        queryBuilder
          .insertInto('rates')
          .values({ key, requests_ms: 0, tokens_ms: 0, blocked_ms: 0 })
          .onConflict((conflict) => conflict.doNothing()),
      );
      const [row] = await run(this.#stateQuery(key).forUpdate());
      const set = async ({ nextRequestMs, nextTokenMs, blockedUntilMs }: RateState): Promise<void> => {
        const columns = { requests_ms: nextRequestMs, tokens_ms: nextTokenMs, blocked_ms: blockedUntilMs };
        await run(queryBuilder.updateTable('rates').set(columns).where('key', '=', key));
      };
      return work(row ?? INITIAL_RATE_STATE, set);
    });
  }
}
