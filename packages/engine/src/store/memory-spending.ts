import type { NewReservation, SpendingRefusal, SpendingStore } from './spending.ts';

/** Later than every time, so that an expired reservation does not expire again. */
const EXPIRED = Infinity;

interface Reservation {
  accounts: readonly string[];
  counted: number;
  minMicros: number;
  expiresMs: number;
}

/** Sums of spending in memory. */
export class MemorySpending implements SpendingStore {
  readonly #sums = new Map<string, { micros: number; untilMs: number }>();
  readonly #reservations = new Map<string, Reservation>();

  reserve({
    id,
    accounts,
    maxMicros,
    minMicros,
    nowMs,
    expiresMs,
  }: NewReservation): SpendingRefusal | undefined {
    this.#expire(nowMs);
    const exceeded = accounts.find((account) => this.sum(account.id) + maxMicros > account.cap);
    if (exceeded) return { account: exceeded.id, micros: this.sum(exceeded.id) };
    for (const account of accounts)
      this.#sums.set(account.id, { micros: this.sum(account.id), untilMs: account.untilMs });
    const reservation = { accounts: accounts.map((account) => account.id), counted: 0, minMicros, expiresMs };
    this.#reservations.set(id, reservation);
    this.#count(reservation, maxMicros);
    return undefined;
  }

  renew(id: string, renewal: { minMicros: number; expiresMs: number }): void {
    const reservation = this.#reservations.get(id);
    if (reservation && reservation.expiresMs !== EXPIRED) Object.assign(reservation, renewal);
  }

  settle(id: string, micros: number): void {
    const reservation = this.#reservations.get(id);
    if (!reservation) return;
    this.#reservations.delete(id);
    this.#count(reservation, micros);
  }

  sum(account: string): number {
    return this.#sums.get(account)?.micros ?? 0;
  }

  prune(nowMs: number): void {
    for (const [account, { untilMs }] of this.#sums) if (untilMs <= nowMs) this.#sums.delete(account);
    for (const [id, { accounts }] of this.#reservations)
      if (!accounts.some((account) => this.#sums.has(account))) this.#reservations.delete(id);
  }

  #expire(nowMs: number): void {
    for (const reservation of this.#reservations.values())
      if (reservation.expiresMs <= nowMs) {
        this.#count(reservation, reservation.minMicros);
        reservation.expiresMs = EXPIRED;
      }
  }

  #count(reservation: Reservation, micros: number): void {
    for (const account of reservation.accounts) {
      const sum = this.#sums.get(account);
      if (sum) sum.micros += micros - reservation.counted;
    }
    reservation.counted = micros;
  }
}
