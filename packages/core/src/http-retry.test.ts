import { describe, expect, it } from 'vitest';
import { isRetryableStatus, parseRetryAfterMs } from './http-retry.ts';

const NOW_MS = Date.parse('2026-01-02T03:04:05Z');

describe('the delay of a Retry-After header', () => {
  it.each<[string | undefined, number | undefined]>([
    [undefined, undefined],
    ['', undefined],
    [' ', undefined],
    ['soon', undefined],
    ['1e9', undefined],
    ['0', 0],
    ['30', 30_000],
    [' 1.5 ', 1500],
    ['Fri, 02 Jan 2026 03:04:15 GMT', 10_000],
    ['Fri, 02 Jan 2026 03:04:00 GMT', 0],
  ])('of %j is %j', (header, expected) => {
    expect(parseRetryAfterMs(header, NOW_MS)).toBe(expected);
  });
});

it.each([408, 425, 429, 500, 503])('a retry after the status %i can succeed', (status) => {
  expect(isRetryableStatus(status)).toBe(true);
});

it.each([200, 301, 400, 401, 404, 409, 422])('a retry after the status %i cannot succeed', (status) => {
  expect(isRetryableStatus(status)).toBe(false);
});
