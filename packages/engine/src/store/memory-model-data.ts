import { isUnlimited, stateAfter, INITIAL_RATE_STATE, waitMsFor } from './rates.ts';
import type { RateDemand, RateState, RateStore } from './rates.ts';
import type { NewReservation, SpendingRefusal, SpendingStore } from './spending.ts';
import { MAX_EXCHANGES } from './stores.ts';
import type { ConversationKey, ConversationStore } from './stores.ts';

// Data of blocks that call models, in memory: conversations, rates and spending.

/** Conversations in memory. */
export class MemoryConversations implements ConversationStore {
  /** By tenant and id: the exchanges by their keys, oldest first. */
  readonly #tenants = new Map<string, Map<string, Map<string, string>>>();

  add({ tenant, id }: ConversationKey, { key, json }: { key: string; json: string }): void {
    const conversations = this.#tenants.get(tenant) ?? new Map<string, Map<string, string>>();
    this.#tenants.set(tenant, conversations);
    const exchanges = conversations.get(id) ?? new Map<string, string>();
    conversations.set(id, exchanges);
    if (exchanges.has(key)) return;
    exchanges.set(key, json);
    const [oldestKey] = exchanges.keys();
    if (exchanges.size > MAX_EXCHANGES && oldestKey !== undefined) exchanges.delete(oldestKey);
  }

  newestExchanges({ tenant, id }: ConversationKey, maxChars: number): string[] {
    const exchanges = [...(this.#tenants.get(tenant)?.get(id)?.values() ?? [])];
    let firstIndex = exchanges.length;
    let remainingChars = maxChars;
    while (firstIndex > 0 && (remainingChars -= (exchanges[firstIndex - 1] ?? '').length) >= 0)
      firstIndex -= 1;
    return exchanges.slice(firstIndex);
  }

  remove({ tenant, id }: ConversationKey): void {
    this.#tenants.get(tenant)?.delete(id);
  }

  ids(tenant: string, limit: number): string[] {
    const ids = [...(this.#tenants.get(tenant)?.keys() ?? [])];
    return ids.toSorted(byCodePoint).slice(0, limit);
  }
}

/**
 * Compares strings in the order of the databases. JavaScript's order puts characters beyond 16 bits before some smaller
 * ones.
 */
function byCodePoint(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(other));
}

/** Rate limit states in memory, by key. */
export class MemoryRates implements RateStore {
  readonly #states = new Map<string, RateState>();

  take(key: string, demand: RateDemand): number {
    const state = this.#state(key);
    const waitMs = waitMsFor(state, demand);
    if (waitMs === 0 && !isUnlimited(demand)) this.#states.set(key, stateAfter(state, demand));
    return waitMs;
  }

  correctTokens(key: string, tokensMs: number): void {
    const state = this.#states.get(key);
    if (state) state.nextTokenMs += tokensMs;
  }

  pauseKey(key: string, untilMs: number): void {
    const state = this.#state(key);
    this.#states.set(key, { ...state, blockedUntilMs: Math.max(state.blockedUntilMs, untilMs) });
  }

  prune(beforeMs: number): void {
    for (const [key, state] of this.#states)
      if (Math.max(state.nextRequestMs, state.nextTokenMs, state.blockedUntilMs) < beforeMs)
        this.#states.delete(key);
  }

  #state(key: string): RateState {
    return this.#states.get(key) ?? INITIAL_RATE_STATE;
  }
}

/** The `expiresMs` of an expired reservation: later than every time, so that it does not expire again. */
const EXPIRED = Infinity;

interface Reservation {
  accounts: readonly string[];
  /** The amount that the totals of the accounts include now. */
  countedMicros: number;
  expiredMicros: number;
  expiresMs: number;
}

/** Spending totals in memory. */
export class MemorySpending implements SpendingStore {
  readonly #totals = new Map<string, { micros: number; retainUntilMs: number }>();
  readonly #reservations = new Map<string, Reservation>();

  reserve({
    id,
    accounts,
    maxMicros,
    expiredMicros,
    nowMs,
    expiresMs,
  }: NewReservation): SpendingRefusal | undefined {
    this.#expireReservations(nowMs);
    const exceededAccount = accounts.find(
      (account) => this.totalOf(account.id) + maxMicros > account.capMicros,
    );
    if (exceededAccount) return { account: exceededAccount.id, micros: this.totalOf(exceededAccount.id) };
    for (const account of accounts)
      this.#totals.set(account.id, {
        micros: this.totalOf(account.id),
        retainUntilMs: account.retainUntilMs,
      });
    const reservation = {
      accounts: accounts.map((account) => account.id),
      countedMicros: 0,
      expiredMicros,
      expiresMs,
    };
    this.#reservations.set(id, reservation);
    this.#setCountedMicros(reservation, maxMicros);
    return undefined;
  }

  renew(id: string, renewal: { expiredMicros: number; expiresMs: number }): void {
    const reservation = this.#reservations.get(id);
    if (reservation && reservation.expiresMs !== EXPIRED) Object.assign(reservation, renewal);
  }

  settle(id: string, micros: number): void {
    const reservation = this.#reservations.get(id);
    if (!reservation) return;
    this.#reservations.delete(id);
    this.#setCountedMicros(reservation, micros);
  }

  totalOf(account: string): number {
    return this.#totals.get(account)?.micros ?? 0;
  }

  prune(nowMs: number): void {
    for (const [account, { retainUntilMs }] of this.#totals)
      if (retainUntilMs <= nowMs) this.#totals.delete(account);
    for (const [id, { accounts }] of this.#reservations)
      if (!accounts.some((account) => this.#totals.has(account))) this.#reservations.delete(id);
  }

  #expireReservations(nowMs: number): void {
    for (const reservation of this.#reservations.values())
      if (reservation.expiresMs <= nowMs) {
        this.#setCountedMicros(reservation, reservation.expiredMicros);
        reservation.expiresMs = EXPIRED;
      }
  }

  /** Changes the amount that the totals of the accounts include. */
  #setCountedMicros(reservation: Reservation, micros: number): void {
    for (const account of reservation.accounts) {
      const total = this.#totals.get(account);
      if (total) total.micros += micros - reservation.countedMicros;
    }
    reservation.countedMicros = micros;
  }
}
