import type { Authenticator } from '@heddle/api';
import { createRemoteJWKSet, customFetch, errors, jwtVerify } from 'jose';
import type { JWTVerifyGetKey } from 'jose';
import { fetchWithLimits, parseProviderUrl } from './bounded-fetch.ts';
import { principalOf, readClaims } from './claims.ts';
import type { FindUserOfToken } from './claims.ts';

/** Rules for the JSON Web Tokens that are accepted. */
export interface JwtOptions {
  /** The exact `iss` of tokens. */
  issuer: string;
  /**
   * The value that `aud` of a token must contain: the name of this deployment at the issuer. Without this check, tokens
   * for other services would be accepted.
   */
  audience: string;
  /** URL of the issuer's keys (JWKS). */
  jwksUrl: string;
  /** Default: RS256, PS256, ES256 and EdDSA. */
  algorithms?: readonly string[];
  /** Tolerated difference between the clocks of the issuer and this server. Default 30. */
  clockSkewSeconds?: number;
  /** How long fetched keys are cached. Default 10 minutes. */
  cacheMs?: number;
  /** Minimum time between two fetches for tokens with an unknown key. Default 30 seconds. */
  cooldownMs?: number;
  /** Time limit of a fetch. Default 5 seconds. */
  timeoutMs?: number;
  now?: () => number;
}

const DEFAULT_ALGORITHMS = ['RS256', 'PS256', 'ES256', 'EdDSA'];
/** Asymmetric algorithms only: with HMAC, anyone who has the public key could sign tokens. */
const ALGORITHMS: ReadonlySet<string> = new Set([
  ...DEFAULT_ALGORITHMS,
  ...['RS384', 'RS512', 'PS384', 'PS512', 'ES384', 'ES512', 'Ed25519'],
]);
const DEFAULTS = { clockSkewSeconds: 30, cacheMs: 600_000, cooldownMs: 30_000, timeoutMs: 5000 };
/** Maximum length of a token. Longer ones are refused before they are parsed. */
export const MAX_TOKEN_LENGTH = 16_384;
/** Minimum time from a failed fetch to the next fetch. */
const RETRY_DELAY_MS = 5000;
/** Maximum size of a response with keys. */
const MAX_JWKS_BYTES = 1_048_576;

/**
 * Returns an authenticator that accepts the issuer's signed tokens and no other credentials. Its promise rejects if the
 * keys cannot be fetched. Throws a RangeError for options that would accept forged tokens or tokens for other services.
 */
export function jwtAuthenticator(options: JwtOptions, userOf: FindUserOfToken): Authenticator {
  const { issuer, audience, now = Date.now } = options;
  const algorithms = [...(options.algorithms ?? DEFAULT_ALGORITHMS)];
  const unsupportedAlgorithm = algorithms.find((name) => !ALGORITHMS.has(name));
  const hint = `Choose from ${[...ALGORITHMS].join(', ')}.`;
  if (algorithms.length === 0) throw new RangeError(`The list of algorithms is empty. ${hint}`);
  if (unsupportedAlgorithm !== undefined)
    throw new RangeError(`Tokens cannot be signed with ${unsupportedAlgorithm}. ${hint}`);
  if (issuer === '' || audience === '') throw new RangeError('Tokens need an issuer and an audience.');
  const findKey = createKeyFinder(options);
  return {
    async authenticate({ bearerToken }) {
      if (bearerToken === undefined || bearerToken.length > MAX_TOKEN_LENGTH) return undefined;
      try {
        const { payload } = await jwtVerify(bearerToken, findKey, {
          issuer,
          audience,
          algorithms,
          clockTolerance: options.clockSkewSeconds ?? DEFAULTS.clockSkewSeconds,
          currentDate: new Date(now()),
          requiredClaims: ['exp', 'sub'],
        });
        const claims = readClaims(payload);
        return claims && (await principalOf(claims, userOf));
      } catch (error) {
        if (error instanceof errors.JOSEError) return undefined;
        throw error;
      }
    },
  };
}

/**
 * Returns a function that finds the key of a token. It throws a JOSEError if the issuer has no such key, and another
 * error if the keys are not available.
 */
function createKeyFinder(options: JwtOptions): JWTVerifyGetKey {
  const {
    cacheMs = DEFAULTS.cacheMs,
    cooldownMs = DEFAULTS.cooldownMs,
    timeoutMs = DEFAULTS.timeoutMs,
  } = options;
  const url = parseProviderUrl(options.jwksUrl, 'The URL of the keys');
  let failedAtMs = -Infinity;
  const findRemoteKey = createRemoteJWKSet(url, {
    cacheMaxAge: cacheMs,
    cooldownDuration: cooldownMs,
    timeoutDuration: timeoutMs,
    async [customFetch](keysUrl, init) {
      // While the issuer is down, requests to this server must not cause requests to the issuer.
      if (Date.now() - failedAtMs < RETRY_DELAY_MS) throw new Error('The last request to the issuer failed.');
      return fetchWithLimits(keysUrl, init, { timeoutMs, maxBytes: MAX_JWKS_BYTES });
    },
  });
  return async (header, token) => {
    try {
      return await findRemoteKey(header, token);
    } catch (error) {
      if (isTokenError(error)) throw error;
      if (Date.now() - failedAtMs >= RETRY_DELAY_MS) failedAtMs = Date.now();
      throw new Error(`The keys of the issuer at ${url.origin} are not available.`, { cause: error });
    }
  };
}

function isTokenError(error: unknown): boolean {
  const { JWKSNoMatchingKey, JWKSMultipleMatchingKeys, JOSENotSupported, JWSInvalid } = errors;
  return [JWKSNoMatchingKey, JWKSMultipleMatchingKeys, JOSENotSupported, JWSInvalid].some(
    (errorClass) => error instanceof errorClass,
  );
}
