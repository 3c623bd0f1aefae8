import type { DatabaseSync } from 'node:sqlite';
import type { NewReservation, SpendingRefusal, SpendingStore } from '../spending.ts';
import type { GroupCommit } from './commit.ts';
import { lazyStatements, withFileErrors } from './database.ts';

function prepare(db: DatabaseSync) {
  return {
    total: db.prepare('SELECT micros FROM spending WHERE account = ?'),
    openAccount: db.prepare(`
      INSERT INTO spending (account, micros, until_ms) VALUES (?, 0, ?)
      ON CONFLICT (account) DO UPDATE SET until_ms = excluded.until_ms`),
    add: db.prepare('UPDATE spending SET micros = micros + ? WHERE account = ?'),
    expiryDifference: db.prepare(`
      SELECT sum(least - counted) AS difference FROM spending_calls
      WHERE account = ? AND expires_ms <= ?`),
    expire: db.prepare(`
      UPDATE spending_calls SET counted = least, expires_ms = NULL WHERE account = ? AND expires_ms <= ?`),
    insertReservation: db.prepare(
      'INSERT INTO spending_calls (id, account, counted, least, expires_ms) VALUES (?, ?, ?, ?, ?)',
    ),
    renew: db.prepare(`
      UPDATE spending_calls SET least = ?, expires_ms = ? WHERE id = ? AND expires_ms IS NOT NULL`),
    settle: db.prepare('DELETE FROM spending_calls WHERE id = ? RETURNING account, counted'),
    pruneSums: db.prepare('DELETE FROM spending WHERE until_ms <= ?'),
    pruneCalls: db.prepare('DELETE FROM spending_calls WHERE account NOT IN (SELECT account FROM spending)'),
  };
}

/** Spending totals in the data file. */
export class SqliteSpending implements SpendingStore {
  /** Prepared at the first use: most engines have no spending caps. */
  readonly #statements: () => ReturnType<typeof prepare>;
  readonly #file: string;
  readonly #commit: GroupCommit;

  constructor(db: DatabaseSync, file: string, commit: GroupCommit) {
    this.#statements = lazyStatements(db, prepare);
    this.#file = file;
    this.#commit = commit;
  }

  reserve(reservation: NewReservation): Promise<SpendingRefusal | undefined> {
    return this.#commit.run(() => {
      const { id, accounts, maxMicros, expiredMicros, nowMs, expiresMs } = reservation;
      for (const account of accounts) this.#expire(account.id, nowMs);
      const exceededAccount = accounts.find(
        (account) => this.#totalOf(account.id) + maxMicros > account.capMicros,
      );
      if (exceededAccount) return { account: exceededAccount.id, micros: this.#totalOf(exceededAccount.id) };
      for (const account of accounts) {
        this.#statements().openAccount.run(account.id, account.retainUntilMs);
        this.#statements().add.run(maxMicros, account.id);
        this.#statements().insertReservation.run(id, account.id, maxMicros, expiredMicros, expiresMs);
      }
      return undefined;
    });
  }

  async renew(
    id: string,
    { expiredMicros, expiresMs }: { expiredMicros: number; expiresMs: number },
  ): Promise<void> {
    await this.#commit.run(() => {
      this.#statements().renew.run(expiredMicros, expiresMs, id);
    });
  }

  async settle(id: string, micros: number): Promise<void> {
    await this.#commit.run(() => {
      for (const { account, counted } of this.#statements().settle.all(id))
        this.#statements().add.run(micros - (counted as number), account as string);
    });
  }

  totalOf(account: string): number {
    return withFileErrors(this.#file, () => this.#totalOf(account));
  }

  async prune(nowMs: number): Promise<void> {
    await this.#commit.run(() => {
      this.#statements().pruneSums.run(nowMs);
      this.#statements().pruneCalls.run();
    });
  }

  #totalOf(account: string): number {
    return Number(this.#statements().total.get(account)?.['micros'] ?? 0);
  }

  #expire(account: string, nowMs: number): void {
    const difference = this.#statements().expiryDifference.get(account, nowMs)?.['difference'] ?? 0;
    if (difference === 0) return;
    this.#statements().add.run(difference, account);
    this.#statements().expire.run(account, nowMs);
  }
}
