import type { Event } from '@heddle/core/machine';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decode, encode, tokenHashOf } from './coded.ts';

const at = fc.array(fc.nat(200), { minLength: 1, maxLength: 5 });
const atMs = fc.nat();
const optional = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });

/** Events of an activity, without the fields that are absent. */
const events: fc.Arbitrary<Event> = fc
  .oneof(
    fc.record({ type: fc.constant('completed'), at, atMs, attempt: fc.nat(9), port: optional(fc.string()) }),
    fc.record({
      type: fc.constant('failed'),
      at,
      atMs,
      attempt: fc.nat(9),
      retryable: fc.boolean(),
      iteration: optional(fc.nat()),
      retryAfterMs: optional(fc.nat()),
      jitter: optional(fc.double({ min: 0, max: 1, noNaN: true })),
    }),
    fc.record({ type: fc.constant('expanded'), at, atMs, iteration: fc.nat(), count: fc.nat() }),
    fc.record({
      type: fc.constant('paused'),
      at,
      atMs,
      attempt: fc.nat(9),
      kind: fc.constantFrom('human', 'time'),
      dueMs: optional(fc.nat()),
    }),
    fc.record({
      type: fc.constant('fired'),
      at,
      atMs,
      timer: fc.constantFrom('timeout', 'retry'),
      attempt: optional(fc.nat(9)),
    }),
  )
  .map((event) => JSON.parse(JSON.stringify(event)) as Event);

describe('events on their way', () => {
  it('are the same when they arrive, through JSON', () => {
    fc.assert(
      fc.property(events, (event) => {
        const travelled = JSON.parse(JSON.stringify(encode(event))) as ReturnType<typeof encode>;
        expect(decode(travelled)).toEqual(event);
      }),
    );
  });

  it('carry the hash of a token where a pause point opens, and nowhere else', () => {
    const paused: Event = { type: 'paused', at: [3], atMs: 5, attempt: 1, kind: 'human' };
    expect(tokenHashOf(encode(paused, 'hash'))).toBe('hash');
    expect(decode(encode(paused, 'hash'))).toEqual(paused);
    expect(tokenHashOf(encode(paused))).toBeUndefined();
    const completed: Event = { type: 'completed', at: [3], atMs: 5, attempt: 1 };
    expect(tokenHashOf(encode(completed, 'hash'))).toBeUndefined();
  });

  it('are no others than those that activities give', () => {
    expect(() => encode({ type: 'cancelled', atMs: 1 })).toThrow('cancelled');
  });
});
