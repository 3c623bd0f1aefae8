import type { Authenticator } from '@heddle/api';
import type { OAuthOptions, ProtectedResource } from '@heddle/service/access';
import type { Env } from '../env.ts';
import { UsageError } from '../usage-error.ts';

/** Environment variables with the client credentials of this deployment for the introspection endpoint. */
const CLIENT_VARIABLES = { id: 'HEDDLE_OAUTH_CLIENT_ID', secret: 'HEDDLE_OAUTH_CLIENT_SECRET' };

/** Options of `heddle serve` about access tokens. */
export interface TokenOptions {
  oauthIssuer?: string;
  oauthAudience?: string;
  oauthJwks?: string;
  oauthIntrospection?: string;
  oauthUser: 'sub' | 'email';
}

interface UserLookup {
  findUserId(id: string): Promise<string | undefined>;
  findUserIdByEmail(email: string): Promise<string | undefined>;
}

/** Accepts access tokens, and tells clients where to get tokens. */
export interface TokenAuth {
  authenticator: Authenticator;
  resource: Omit<ProtectedResource, 'origin'>;
}

/**
 * Returns the authenticator of access tokens, and the metadata of the protected resource. Returns undefined if no
 * option for access tokens is set. Throws usage errors.
 */
export async function createTokenAuth(
  options: TokenOptions,
  env: Env,
  users: UserLookup,
): Promise<TokenAuth | undefined> {
  const {
    oauthIssuer: issuer,
    oauthAudience: audience,
    oauthJwks: jwks,
    oauthIntrospection: introspectionUrl,
  } = options;
  if ([issuer, audience, jwks, introspectionUrl].every((value) => value === undefined)) return undefined;
  if (issuer === undefined || audience === undefined || (jwks ?? introspectionUrl) === undefined) {
    throw new UsageError(
      'Access tokens need --oauth-issuer, --oauth-audience, and --oauth-jwks or --oauth-introspection.',
      'See docs/auth.md.',
    );
  }
  const commonOptions = { issuer, audience };
  const oauthOptions: OAuthOptions = {
    ...(jwks !== undefined && { jwt: { ...commonOptions, jwksUrl: jwks } }),
    ...(introspectionUrl !== undefined && {
      introspection: { ...commonOptions, url: introspectionUrl, ...clientCredentialsOf(env) },
    }),
  };
  const { oauthAuthenticator, userFinderByClaim } = await import('@heddle/service/access');
  try {
    const authenticator = oauthAuthenticator(oauthOptions, userFinderByClaim(options.oauthUser, users));
    return { authenticator, resource: { resource: audience, issuer } };
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new UsageError(error.message, 'See docs/auth.md.');
  }
}

function clientCredentialsOf(env: Env): { clientId: string; clientSecret: string } {
  const [clientId, clientSecret] = [env.value(CLIENT_VARIABLES.id), env.value(CLIENT_VARIABLES.secret)];
  if (clientId !== undefined && clientSecret !== undefined) return { clientId, clientSecret };
  throw new UsageError(
    `--oauth-introspection needs ${CLIENT_VARIABLES.id} and ${CLIENT_VARIABLES.secret}.`,
    'Set both in the environment to the credentials that the authorization server has issued to this deployment.',
  );
}
