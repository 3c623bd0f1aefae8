/** Returns true if a retry of a request that failed with this status can succeed. */
export function isRetryableStatus(status: number): boolean {
  return status === 408 || status === 425 || status === 429 || status >= 500;
}

/**
 * Returns the delay of a Retry-After header (RFC 9110 §10.2.3), in milliseconds; undefined if the header is absent or
 * malformed.
 */
export function parseRetryAfterMs(header: string | undefined, nowMs: number): number | undefined {
  const value = header?.trim() ?? '';
  // Some services also send fractions of a second.
  if (/^\d+(?:\.\d+)?$/.test(value)) return Number(value) * 1000;
  const dateMs = Date.parse(value);
  return Number.isNaN(dateMs) ? undefined : Math.max(0, dateMs - nowMs);
}
