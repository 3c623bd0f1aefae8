import { createHash } from 'node:crypto';

/** The name under which a workflow knows a pause point: tokens themselves stay out of the history. */
export function hashOf(token: string): string {
  return createHash('sha256').update(token).digest('base64url');
}
