import { isUnlimited, stateAfter, UNUSED_KEY, waitFor } from './rates.ts';
import type { RateDemand, RateState, RateStore } from './rates.ts';

/** Rates of keys in memory. */
export class MemoryRates implements RateStore {
  readonly #keys = new Map<string, RateState>();

  take(key: string, demand: RateDemand): number {
    const state = this.#state(key);
    const wait = waitFor(state, demand);
    if (wait === 0 && !isUnlimited(demand)) this.#keys.set(key, stateAfter(state, demand));
    return wait;
  }

  correct(key: string, tokensMs: number): void {
    const state = this.#keys.get(key);
    if (state) state.tokensMs += tokensMs;
  }

  block(key: string, untilMs: number): void {
    const state = this.#state(key);
    this.#keys.set(key, { ...state, blockedMs: Math.max(state.blockedMs, untilMs) });
  }

  prune(beforeMs: number): void {
    for (const [key, state] of this.#keys)
      if (Math.max(state.requestsMs, state.tokensMs, state.blockedMs) < beforeMs) this.#keys.delete(key);
  }

  #state(key: string): RateState {
    return this.#keys.get(key) ?? UNUSED_KEY;
  }
}
