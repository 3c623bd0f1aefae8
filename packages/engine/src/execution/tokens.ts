import { createHmac, randomBytes } from 'node:crypto';
import { placeKey } from '@heddle/core/run';
import type { AttemptPlace } from './attempt-entry.ts';

const TOKEN_BYTES = 24;

/** Returns a new random token. */
export function randomToken(): string {
  return randomBytes(TOKEN_BYTES).toString('base64url');
}

/**
 * Returns the token of the pause point that an attempt opens: the same each time the pause point is opened, a different
 * one after each resume, and unpredictable without `tokenKey`.
 */
export function derivePauseToken(tokenKey: string, attempt: AttemptPlace): string {
  const { try: attemptNumber, resumes } = attempt;
  const digest = createHmac('sha256', tokenKey)
    .update(`${placeKey(attempt)}\n${attemptNumber}${resumes === undefined ? '' : `\n${resumes}`}`)
    .digest();
  return digest.subarray(0, TOKEN_BYTES).toString('base64url');
}
