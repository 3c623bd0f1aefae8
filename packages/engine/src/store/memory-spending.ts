import type { NewReservation, SpendingRefusal, SpendingStore } from './spending.ts';

/** Later than every time, so that an expired reservation does not expire again. */
const EXPIRED = Infinity;

interface Reserved {
  accounts: readonly string[];
  counted: number;
  least: number;
  expiresMs: number;
}

/** Sums of spending in memory. */
export class MemorySpending implements SpendingStore {
  readonly #sums = new Map<string, { micros: number; untilMs: number }>();
  readonly #reserved = new Map<string, Reserved>();

  reserve({ id, accounts, most, least, nowMs, expiresMs }: NewReservation): SpendingRefusal | undefined {
    this.#expire(nowMs);
    const refused = accounts.find((account) => this.sum(account.id) + most > account.cap);
    if (refused) return { account: refused.id, micros: this.sum(refused.id) };
    for (const account of accounts)
      this.#sums.set(account.id, { micros: this.sum(account.id), untilMs: account.untilMs });
    const reserved = { accounts: accounts.map((account) => account.id), counted: 0, least, expiresMs };
    this.#reserved.set(id, reserved);
    this.#count(reserved, most);
    return undefined;
  }

  renew(id: string, renewed: { least: number; expiresMs: number }): void {
    const reserved = this.#reserved.get(id);
    if (reserved && reserved.expiresMs !== EXPIRED) Object.assign(reserved, renewed);
  }

  settle(id: string, micros: number): void {
    const reserved = this.#reserved.get(id);
    if (!reserved) return;
    this.#reserved.delete(id);
    this.#count(reserved, micros);
  }

  sum(account: string): number {
    return this.#sums.get(account)?.micros ?? 0;
  }

  prune(nowMs: number): void {
    for (const [account, { untilMs }] of this.#sums) if (untilMs <= nowMs) this.#sums.delete(account);
    for (const [id, { accounts }] of this.#reserved)
      if (!accounts.some((account) => this.#sums.has(account))) this.#reserved.delete(id);
  }

  #expire(nowMs: number): void {
    for (const reserved of this.#reserved.values())
      if (reserved.expiresMs <= nowMs) {
        this.#count(reserved, reserved.least);
        reserved.expiresMs = EXPIRED;
      }
  }

  #count(reserved: Reserved, micros: number): void {
    for (const account of reserved.accounts) {
      const sum = this.#sums.get(account);
      if (sum) sum.micros += micros - reserved.counted;
    }
    reserved.counted = micros;
  }
}
