import { createHash } from 'node:crypto';
import type { Authenticator } from '@heddle/api';
import { fetchWithLimits, parseProviderUrl } from './bounded-fetch.ts';
import { principalOf, readClaims } from './claims.ts';
import type { TokenClaims, FindUserOfToken } from './claims.ts';
import { MAX_TOKEN_LENGTH } from './jwt.ts';

/** The server that checks opaque tokens (RFC 7662), and the client that sends requests to it. */
export interface IntrospectionOptions {
  url: string;
  clientId: string;
  clientSecret: string;
  /** The value that `aud` of the response must contain. */
  audience: string;
  /** The exact `iss` of the response, if it has one. */
  issuer?: string;
  /** Time for which a response is cached. During this time, a revoked token is still accepted. Default 30 seconds. */
  cacheMs?: number;
  /** Time limit of a request. Default 5 seconds. */
  timeoutMs?: number;
  now?: () => number;
}

const DEFAULTS = { cacheMs: 30_000, timeoutMs: 5000 };
/** Maximum number of cached responses. The oldest one is evicted first. */
const MAX_CACHED_RESPONSES = 10_000;
/** Maximum number of concurrent requests. Further tokens are refused with 503. */
const MAX_CONCURRENT_REQUESTS = 64;
const MAX_RESPONSE_BYTES = 65_536;

interface CachedResponse {
  /** Undefined for a token that is not active. */
  claims: TokenClaims | undefined;
  expiresAtMs: number;
}

/**
 * Returns an authenticator that introspects each token at the server. It accepts no other credentials. Its promise
 * rejects if the server is unavailable.
 */
export function introspectionAuthenticator(
  options: IntrospectionOptions,
  userOf: FindUserOfToken,
): Authenticator {
  const { now = Date.now } = options;
  const check = createTokenCheck(options, now);
  return {
    async authenticate({ bearerToken }) {
      if (bearerToken === undefined || bearerToken.length > MAX_TOKEN_LENGTH) return undefined;
      const claims = await check(bearerToken);
      if (!claims || !isCurrent(claims, now())) return undefined;
      return principalOf(claims, userOf);
    },
  };
}

function isCurrent({ exp, nbf = 0 }: TokenClaims, nowMs: number): boolean {
  return exp * 1000 > nowMs && nbf * 1000 <= nowMs;
}

/**
 * Returns a function that returns the claims of a valid token. The function caches responses, and shares one request
 * between concurrent calls with the same token.
 */
function createTokenCheck(
  options: IntrospectionOptions,
  now: () => number,
): (token: string) => Promise<TokenClaims | undefined> {
  const { cacheMs = DEFAULTS.cacheMs } = options;
  const introspect = createTokenIntrospector(options);
  const cache = new Map<string, CachedResponse>();
  const pendingRequests = new Map<string, Promise<TokenClaims | undefined>>();
  return async (token) => {
    // A hash, so that the memory of this process holds no list of valid tokens.
    const key = createHash('sha256').update(token).digest('base64url');
    const cachedResponse = cache.get(key);
    if (cachedResponse && cachedResponse.expiresAtMs > now()) return cachedResponse.claims;
    cache.delete(key);
    const pendingRequest = pendingRequests.get(key);
    if (pendingRequest) return pendingRequest;
    if (pendingRequests.size >= MAX_CONCURRENT_REQUESTS)
      throw new Error(`The limit of ${MAX_CONCURRENT_REQUESTS} concurrent introspections is reached.`);
    const request = introspect(token).finally(() => pendingRequests.delete(key));
    pendingRequests.set(key, request);
    const claims = await request;
    cache.set(key, { claims, expiresAtMs: now() + cacheMs });
    for (const oldestKey of cache.keys()) {
      if (cache.size <= MAX_CACHED_RESPONSES) break;
      cache.delete(oldestKey);
    }
    return claims;
  };
}

/**
 * Returns a function that introspects a token at the server. It returns undefined for a token that is not valid for
 * this deployment.
 */
function createTokenIntrospector(
  options: IntrospectionOptions,
): (token: string) => Promise<TokenClaims | undefined> {
  const { clientId, clientSecret, audience, issuer, timeoutMs = DEFAULTS.timeoutMs } = options;
  const url = parseProviderUrl(options.url, 'The introspection URL');
  // RFC 6749, 2.3.1: both parts are form-encoded first.
  const [id, secret] = [clientId, clientSecret].map((part) =>
    new URLSearchParams({ x: part }).toString().slice(2),
  );
  const authorization = `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`;
  return async (token) => {
    const body = new URLSearchParams({ token, token_type_hint: 'access_token' });
    const headers = { Accept: 'application/json', Authorization: authorization };
    const init = { method: 'POST', headers, body };
    const response = await fetchWithLimits(url.href, init, { timeoutMs, maxBytes: MAX_RESPONSE_BYTES });
    if (response.status !== 200)
      throw new Error(`Introspection at ${url.origin} responded with ${response.status}.`);
    const payload: unknown = await response.json();
    const { active } = (payload ?? {}) as { active?: unknown };
    if (typeof active !== 'boolean')
      throw new Error(`Introspection at ${url.origin} did not say whether a token is active.`);
    const claims = active ? readClaims(payload) : undefined;
    if (!claims || !(Array.isArray(claims.aud) ? claims.aud : [claims.aud]).includes(audience))
      return undefined;
    return issuer === undefined || claims.iss === undefined || claims.iss === issuer ? claims : undefined;
  };
}
