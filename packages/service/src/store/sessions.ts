import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Principal } from '@heddle/api';
import * as z from 'zod';
import type { KeyStore } from './keys.ts';

/** The identity behind a browser session: a user, or an API key. */
export type SessionOwner = { userId: string } | { keyId: string };

/** Maximum duration of a session. */
export const SESSION_SECONDS = 7 * 24 * 3600;

const NONCE_BYTES = 16;

const payloadSchema = z.strictObject({
  /** The id of the user. */
  u: z.string().optional(),
  /** The id of the key. */
  k: z.string().optional(),
  /** The time of expiry, in milliseconds since the epoch. */
  e: z.number(),
  /** The id of the session. */
  n: z.string(),
});

/**
 * Browser sessions. A session is a signed token that any process with the same secret verifies, so nothing is stored. A
 * session that began with an API key ends when the key is revoked or expires.
 */
export class Sessions {
  readonly #secret: Buffer;
  readonly #keys: Pick<KeyStore, 'findById'>;
  readonly #now: () => number;

  constructor(secret: string, keys: Pick<KeyStore, 'findById'>, now: () => number = Date.now) {
    // A separate secret, so that no value is both the hash of a key and a signature.
    this.#secret = createHmac('sha256', secret).update('sessions of browsers').digest();
    this.#keys = keys;
    this.#now = now;
  }

  /** Returns the token of a new session. */
  create(owner: SessionOwner): string {
    const identity = 'userId' in owner ? { u: owner.userId } : { k: owner.keyId };
    const expiresAtMs = this.#now() + SESSION_SECONDS * 1000;
    const session = { ...identity, e: expiresAtMs, n: randomBytes(NONCE_BYTES).toString('base64url') };
    const payload = Buffer.from(JSON.stringify(session)).toString('base64url');
    return `${payload}.${this.#sign(payload).toString('base64url')}`;
  }

  /** Returns the principal of a session; undefined if the token is invalid or the session has expired. */
  async find(token: string): Promise<Principal | undefined> {
    const [payload = '', signature = ''] = token.split('.');
    const expectedSignature = this.#sign(payload);
    const actualSignature = Buffer.from(signature, 'base64url');
    if (
      actualSignature.length !== expectedSignature.length ||
      !timingSafeEqual(actualSignature, expectedSignature)
    )
      return undefined;
    const {
      u: userId,
      k: keyId,
      e: expiresAtMs,
      n: id,
    } = payloadSchema.parse(JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')));
    if (expiresAtMs <= this.#now()) return undefined;
    if (keyId !== undefined) return this.#keys.findById(keyId, this.#now());
    if (userId === undefined) return undefined;
    return {
      kind: 'session',
      credentialId: `session:${id}`,
      userId,
      workspaceId: null,
      scopes: ['api:read', 'api:write'],
      expiresAt: new Date(expiresAtMs).toISOString(),
    };
  }

  #sign(payload: string): Buffer {
    return createHmac('sha256', this.#secret).update(payload).digest();
  }
}
