import { createHmac, randomBytes } from 'node:crypto';
import { placeKey } from '@heddle/core/run';
import type { Place } from '@heddle/core/run';

const BYTES = 24;

/** Returns a new random token. */
export function randomToken(): string {
  return randomBytes(BYTES).toString('base64url');
}

/** Returns the token of the pause point that an attempt opens: the same for the same attempt, and unpredictable without `tokenKey`. */
export function pauseToken(tokenKey: string, place: Place, attempt: number): string {
  const digest = createHmac('sha256', tokenKey)
    .update(`${placeKey(place)}\n${attempt}`)
    .digest();
  return digest.subarray(0, BYTES).toString('base64url');
}
