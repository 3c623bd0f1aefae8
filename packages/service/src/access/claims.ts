import { createHash } from 'node:crypto';
import type { Principal } from '@heddle/api';
import * as z from 'zod';

/** Accepts a string or an array of strings, as in `aud` and `scp`. */
const stringOrArray = z.union([z.string(), z.array(z.string())]);

/** The claims that are read from a verified token or an introspection response (RFC 7519, 7662, 9068). */
const claimsSchema = z.object({
  iss: z.string().optional(),
  sub: z.string().min(1),
  aud: stringOrArray.optional(),
  exp: z.number(),
  nbf: z.number().optional(),
  iat: z.number().optional(),
  jti: z.string().optional(),
  scope: z.string().optional(),
  scp: stringOrArray.optional(),
  client_id: z.string().optional(),
  email: z.string().optional(),
  email_verified: z.boolean().optional(),
});

export type TokenClaims = z.output<typeof claimsSchema>;

/** Returns the id of the Heddle user of a token; undefined if there is none, so that the token is refused. */
export type FindUserOfToken = (claims: TokenClaims) => Promise<string | undefined>;

/** Returns the claims; undefined if a required one is missing or has the wrong type. */
export function readClaims(payload: unknown): TokenClaims | undefined {
  return claimsSchema.safeParse(payload).data;
}

const SCOPES = ['api:read', 'api:write'] as const;
/** The latest time that a Date can hold, in seconds. */
const MAX_DATE_SECONDS = 8_640_000_000_000;

/** Returns the principal of verified claims; undefined if the subject is not a user of this deployment. */
export async function principalOf(
  claims: TokenClaims,
  userOf: FindUserOfToken,
): Promise<Principal | undefined> {
  const userId = await userOf(claims);
  if (userId === undefined) return undefined;
  const grantedScopes = new Set(toScopes(claims.scope).concat(toScopes(claims.scp)));
  return {
    kind: 'oauth',
    credentialId: `oauth:${tokenIdOf(claims)}`,
    userId,
    workspaceId: null,
    scopes: SCOPES.filter((scope) => grantedScopes.has(scope)),
    expiresAt: new Date(Math.min(claims.exp, MAX_DATE_SECONDS) * 1000).toISOString(),
  };
}

function toScopes(value: string | string[] | undefined): string[] {
  return typeof value === 'string' ? value.split(' ') : (value ?? []);
}

/** Returns an id of the token: the same for each encoding of it, and no longer than the id of a key. */
function tokenIdOf({ iss, sub, client_id: client, jti, iat, exp }: TokenClaims): string {
  const parts = [iss ?? '', sub, client ?? '', jti ?? `${iat ?? ''} ${exp}`];
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url').slice(0, 32);
}

/**
 * Returns a function that finds users by a claim: `sub` is the id of a Heddle user, `email` a verified email address.
 */
export function userFinderByClaim(
  claim: 'sub' | 'email',
  users: {
    findUserId(id: string): Promise<string | undefined>;
    findUserIdByEmail(email: string): Promise<string | undefined>;
  },
): FindUserOfToken {
  return async ({ sub, email, email_verified: isVerified }) => {
    if (claim === 'sub') return users.findUserId(sub);
    // Anyone can claim an address that the provider has not verified.
    return email !== undefined && isVerified === true ? users.findUserIdByEmail(email) : undefined;
  };
}
