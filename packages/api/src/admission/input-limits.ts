import { payloadTooLarge } from '../errors.ts';

/** Limits of a request's input. */
export interface InputLimits {
  /** Bytes of the body. */
  bytes: number;
  /** Values in the body: objects, arrays, and everything in them. */
  values: number;
  /** Files in the input of a run. */
  files?: number;
  /** Total bytes of these files. */
  fileBytes?: number;
}

/** Limits for callers with a credential. */
export const AUTHENTICATED_LIMITS = { bytes: 10 * 1024 * 1024, values: 500_000 };

/** Default limits for unauthenticated callers. */
export const ANONYMOUS_LIMITS = {
  bytes: 1024 * 1024,
  values: 10_000,
  files: 5,
  fileBytes: 10 * 1024 * 1024,
};

/** Throws 413 when `value` contains more values than the limit. */
export function requireValueLimit(value: unknown, { values }: Pick<InputLimits, 'values'>): void {
  const pending: unknown[] = [value];
  let count = 0;
  while (pending.length > 0) {
    const next = pending.pop();
    if (typeof next !== 'object' || next === null) continue;
    const nestedValues = Object.values(next);
    count += nestedValues.length;
    if (count > values) throw payloadTooLarge(`Request body has more than ${values} values`);
    for (const nestedValue of nestedValues) pending.push(nestedValue);
  }
}
