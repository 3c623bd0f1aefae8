import { ApiError } from '../errors.ts';

/** Bounds of what a request brings along. */
export interface InputLimits {
  /** Bytes of the body. */
  bytes: number;
  /** Values in the body: objects, lists, and what is in them. */
  values: number;
  /** Files of the input of a run. */
  files?: number;
  /** Bytes of all those files together. */
  fileBytes?: number;
}

/** Bounds for callers with a credential. */
export const KNOWN_CALLERS = { bytes: 10 * 1024 * 1024, values: 500_000 };

/** Bounds for callers without one, unless the host has set others. */
export const ANONYMOUS_CALLERS = {
  bytes: 1024 * 1024,
  values: 10_000,
  files: 5,
  fileBytes: 10 * 1024 * 1024,
};

/** Throws 413 for a value with more values in it than there may be. */
export function expectFewValues(value: unknown, { values }: Pick<InputLimits, 'values'>): void {
  const open: unknown[] = [value];
  let count = 0;
  while (open.length > 0) {
    const next = open.pop();
    if (typeof next !== 'object' || next === null) continue;
    const parts = Object.values(next);
    count += parts.length;
    if (count > values) throw new ApiError(413, `Request body has more than ${values} values`);
    for (const part of parts) open.push(part);
  }
}

export function bodyTooLarge(): ApiError {
  return new ApiError(413, 'Request body is too large');
}
