import type { Authenticator } from '@heddle/api';
import type { FindUserOfToken } from './claims.ts';
import { introspectionAuthenticator } from './introspection.ts';
import type { IntrospectionOptions } from './introspection.ts';
import { jwtAuthenticator } from './jwt.ts';
import type { JwtOptions } from './jwt.ts';

/** The access tokens that are accepted: signed ones, opaque ones, or both. */
export interface OAuthOptions {
  jwt?: JwtOptions;
  introspection?: IntrospectionOptions;
}

/** Three Base64url parts; the last one may be empty. */
const JWT_PATTERN = /^[\w-]+\.[\w-]+\.[\w-]*$/;

/**
 * Returns an authenticator for access tokens. With `jwt`, signed tokens are verified by their signature; all other
 * tokens are introspected, or refused without `introspection`.
 */
export function oauthAuthenticator(
  { jwt, introspection }: OAuthOptions,
  userOf: FindUserOfToken,
): Authenticator {
  const jwtAuth = jwt && jwtAuthenticator(jwt, userOf);
  const introspectionAuth = introspection && introspectionAuthenticator(introspection, userOf);
  return {
    authenticate: async (credentials, headers) => {
      const isSigned = jwtAuth !== undefined && JWT_PATTERN.test(credentials.bearerToken ?? '');
      return (isSigned ? jwtAuth : introspectionAuth)?.authenticate(credentials, headers);
    },
  };
}

/**
 * Returns an authenticator that checks API keys with `keyAuthenticator` and all other credentials with
 * `otherAuthenticators`, in their order.
 */
export function combineAuthenticators(
  keyAuthenticator: Authenticator,
  ...otherAuthenticators: readonly Authenticator[]
): Authenticator {
  return {
    async authenticate(credentials, headers) {
      if (credentials.apiKey !== undefined) return keyAuthenticator.authenticate(credentials, headers);
      for (const authenticator of otherAuthenticators) {
        const principal = await authenticator.authenticate(credentials, headers);
        if (principal) return principal;
      }
      return undefined;
    },
  };
}
