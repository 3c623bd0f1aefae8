import type { Authenticator } from '@heddle/api';
import type { UserOfToken } from './claims.ts';
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
const JWT_FORM = /^[\w-]+\.[\w-]+\.[\w-]*$/;

/**
 * Returns an authenticator for access tokens. With `jwt`, signed tokens are verified by their signature; all other
 * tokens are introspected, or refused without `introspection`.
 */
export function oauthAuthenticator({ jwt, introspection }: OAuthOptions, userOf: UserOfToken): Authenticator {
  const jwtAuth = jwt && jwtAuthenticator(jwt, userOf);
  const introspectionAuth = introspection && introspectionAuthenticator(introspection, userOf);
  return {
    authenticate: async (credentials, headers) => {
      const isSigned = jwtAuth !== undefined && JWT_FORM.test(credentials.bearerToken ?? '');
      return (isSigned ? jwtAuth : introspectionAuth)?.authenticate(credentials, headers);
    },
  };
}

/** Returns an authenticator that checks API keys with `keys` and all other credentials with `others`, in this order. */
export function combineAuthenticators(
  keys: Authenticator,
  ...others: readonly Authenticator[]
): Authenticator {
  return {
    async authenticate(credentials, headers) {
      if (credentials.apiKey !== undefined) return keys.authenticate(credentials, headers);
      for (const other of others) {
        const principal = await other.authenticate(credentials, headers);
        if (principal) return principal;
      }
      return undefined;
    },
  };
}
