/**
 * The amounts that a call takes from the rate limits of its key, expressed as times: if 60 requests per minute are
 * allowed, one request takes 1,000 ms.
 */
export interface RateDemand {
  nowMs: number;
  /** The times that the request and its tokens take. 0: no limit. */
  requestMs: number;
  tokensMs: number;
  /** The times that calls may take in advance (bursts). */
  requestBurstMs: number;
  tokenBurstMs: number;
}

/**
 * The theoretical arrival times of the next request and the next token of a key (generic cell rate algorithm), and the
 * time at which the provider accepts the key again.
 */
export interface RateState {
  nextRequestMs: number;
  nextTokenMs: number;
  blockedUntilMs: number;
}

/** Rate limit states, by key. A key is a hash, never a secret. `describeRates` tests an implementation. */
export interface RateStore {
  /** Takes a request and its tokens, and returns 0; or takes nothing and returns the milliseconds to wait. */
  take(key: string, demand: RateDemand): Promise<number> | number;
  /** Takes `tokensMs` more, once the number of tokens is known. A negative time is given back. */
  correctTokens(key: string, tokensMs: number): Promise<void> | void;
  /** Stops all calls with the key until `untilMs`. */
  pauseKey(key: string, untilMs: number): Promise<void> | void;
  /** Removes the keys whose times are all before `beforeMs`. */
  prune(beforeMs: number): Promise<void> | void;
}

/**
 * Returns the milliseconds that a call has to wait; 0 if its rates allow it now. A call with more tokens than the burst
 * waits until the whole burst is available.
 */
export function waitMsFor(state: RateState, demand: RateDemand): number {
  const { nowMs, requestMs, tokensMs, requestBurstMs, tokenBurstMs } = demand;
  const requestWaitMs =
    requestMs > 0 ? state.nextRequestMs - nowMs - Math.max(0, requestBurstMs - requestMs) : 0;
  const tokenWaitMs = tokensMs > 0 ? state.nextTokenMs - nowMs - Math.max(0, tokenBurstMs - tokensMs) : 0;
  return Math.max(0, Math.ceil(Math.max(state.blockedUntilMs - nowMs, requestWaitMs, tokenWaitMs)));
}

/** True for a call without limits: it takes nothing, and waits only while its key is blocked. */
export function isUnlimited({ requestMs, tokensMs }: Pick<RateDemand, 'requestMs' | 'tokensMs'>): boolean {
  return requestMs === 0 && tokensMs === 0;
}

/** Returns the state after the call. */
export function stateAfter(
  state: RateState,
  { nowMs, requestMs, tokensMs }: Pick<RateDemand, 'nowMs' | 'requestMs' | 'tokensMs'>,
): RateState {
  return {
    ...state,
    nextRequestMs: Math.max(state.nextRequestMs, nowMs) + requestMs,
    nextTokenMs: Math.max(state.nextTokenMs, nowMs) + tokensMs,
  };
}

/** The state of a key that was never used. */
export const INITIAL_RATE_STATE: RateState = { nextRequestMs: 0, nextTokenMs: 0, blockedUntilMs: 0 };
