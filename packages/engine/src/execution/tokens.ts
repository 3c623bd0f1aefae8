import { createHmac, randomBytes } from 'node:crypto';
import { placeKey } from '@heddle/core/run';
import type { Place } from '@heddle/core/run';

const BYTES = 24;

/** A token that nobody can guess. */
export function randomToken(): string {
  return randomBytes(BYTES).toString('base64url');
}

/** The token of the pause point that a try of a block opens: the same for the same try, and unknown to who lacks `tokenKey`. */
export function tokenOf(tokenKey: string, place: Place, attempt: number): string {
  const digest = createHmac('sha256', tokenKey)
    .update(`${placeKey(place)}\n${attempt}`)
    .digest();
  return digest.subarray(0, BYTES).toString('base64url');
}
