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
 * Returns an authenticator for access tokens. Signed tokens are verified here where that is configured; all others are
 * introspected. It issues no tokens.
 */
export function oauthAuthenticator({ jwt, introspection }: OAuthOptions, userOf: UserOfToken): Authenticator {
  const signed = jwt && jwtAuthenticator(jwt, userOf);
  const opaque = introspection && introspectionAuthenticator(introspection, userOf);
  return {
    authenticate: async (credentials, headers) => {
      const isSigned = signed !== undefined && JWT_FORM.test(credentials.bearer ?? '');
      return (isSigned ? signed : opaque)?.authenticate(credentials, headers);
    },
  };
}

/** Returns an authenticator that checks API keys by `keys` and all other credentials by `others`, in this order. */
export function keysAnd(keys: Authenticator, ...others: readonly Authenticator[]): Authenticator {
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
