import type { DatabaseSync } from 'node:sqlite';
import { isUnlimited, stateAfter, INITIAL_RATE_STATE, waitMsFor } from '../rates.ts';
import type { RateDemand, RateState, RateStore } from '../rates.ts';
import type { GroupCommit } from './commit.ts';
import { lazyStatements, withFileErrors } from './database.ts';

function prepare(db: DatabaseSync) {
  return {
    state: db.prepare(`
      SELECT requests_ms AS nextRequestMs, tokens_ms AS nextTokenMs, blocked_ms AS blockedUntilMs
        FROM rates WHERE key = ?`),
    set: db.prepare(`
      INSERT INTO rates (key, requests_ms, tokens_ms, blocked_ms) VALUES (?, ?, ?, ?)
      ON CONFLICT (key) DO UPDATE SET requests_ms = excluded.requests_ms, tokens_ms = excluded.tokens_ms,
        blocked_ms = excluded.blocked_ms`),
    correct: db.prepare('UPDATE rates SET tokens_ms = tokens_ms + ? WHERE key = ?'),
    prune: db.prepare('DELETE FROM rates WHERE max(requests_ms, tokens_ms, blocked_ms) < ?'),
  };
}

/** Rate limit states in the data file, by key. */
export class SqliteRates implements RateStore {
  /** Prepared at the first use: most engines call no models. */
  readonly #statements: () => ReturnType<typeof prepare>;
  readonly #file: string;
  readonly #commit: GroupCommit;

  constructor(db: DatabaseSync, file: string, commit: GroupCommit) {
    this.#statements = lazyStatements(db, prepare);
    this.#file = file;
    this.#commit = commit;
  }

  async take(key: string, demand: RateDemand): Promise<number> {
    if (isUnlimited(demand)) return withFileErrors(this.#file, () => waitMsFor(this.#state(key), demand));
    return this.#commit.run(() => {
      const state = this.#state(key);
      const waitMs = waitMsFor(state, demand);
      if (waitMs === 0) this.#set(key, stateAfter(state, demand));
      return waitMs;
    });
  }

  async correctTokens(key: string, tokensMs: number): Promise<void> {
    await this.#commit.run(() => {
      this.#statements().correct.run(tokensMs, key);
    });
  }

  async pauseKey(key: string, untilMs: number): Promise<void> {
    await this.#commit.run(() => {
      const state = this.#state(key);
      this.#set(key, { ...state, blockedUntilMs: Math.max(state.blockedUntilMs, untilMs) });
    });
  }

  async prune(beforeMs: number): Promise<void> {
    await this.#commit.run(() => {
      this.#statements().prune.run(beforeMs);
    });
  }

  #state(key: string): RateState {
    return (this.#statements().state.get(key) as RateState | undefined) ?? INITIAL_RATE_STATE;
  }

  #set(key: string, { nextRequestMs, nextTokenMs, blockedUntilMs }: RateState): void {
    this.#statements().set.run(key, nextRequestMs, nextTokenMs, Math.ceil(blockedUntilMs));
  }
}
