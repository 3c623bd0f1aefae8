import type { Event } from '@heddle/core/machine';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeEvent, encodeEvent, tokenHashOf } from './event-codec.ts';

const at = fc.array(fc.nat(200), { minLength: 1, maxLength: 5 });
const atMs = fc.nat();
const optionalOf = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });

/** Events that activities produce; undefined fields are omitted. */
const events: fc.Arbitrary<Event> = fc
  .oneof(
    fc.record({
      type: fc.constant('completed'),
      at,
      atMs,
      attempt: fc.nat(9),
      port: optionalOf(fc.string()),
    }),
    fc.record({
      type: fc.constant('failed'),
      at,
      atMs,
      attempt: fc.nat(9),
      retryable: fc.boolean(),
      iteration: optionalOf(fc.nat()),
      retryAfterMs: optionalOf(fc.nat()),
      jitter: optionalOf(fc.double({ min: 0, max: 1, noNaN: true })),
    }),
    fc.record({ type: fc.constant('expanded'), at, atMs, iteration: fc.nat(), count: fc.nat() }),
    fc.record({
      type: fc.constant('paused'),
      at,
      atMs,
      attempt: fc.nat(9),
      kind: fc.constantFrom('human', 'time'),
      dueMs: optionalOf(fc.nat()),
    }),
    fc.record({
      type: fc.constant('fired'),
      at,
      atMs,
      timer: fc.constantFrom('timeout', 'retry'),
      attempt: optionalOf(fc.nat(9)),
    }),
  )
  .map((event) => JSON.parse(JSON.stringify(event)) as Event);

describe('the event codec', () => {
  it('decodes encoded events, even after a conversion to JSON and back', () => {
    fc.assert(
      fc.property(events, (event) => {
        const encoded = JSON.parse(JSON.stringify(encodeEvent(event))) as ReturnType<typeof encodeEvent>;
        expect(decodeEvent(encoded)).toEqual(event);
      }),
    );
  });

  it('adds the token hash only to an event that opens a pause point', () => {
    const paused: Event = { type: 'paused', at: [3], atMs: 5, attempt: 1, kind: 'human' };
    expect(tokenHashOf(encodeEvent(paused, 'hash'))).toBe('hash');
    expect(decodeEvent(encodeEvent(paused, 'hash'))).toEqual(paused);
    expect(tokenHashOf(encodeEvent(paused))).toBeUndefined();
    const completed: Event = { type: 'completed', at: [3], atMs: 5, attempt: 1 };
    expect(tokenHashOf(encodeEvent(completed, 'hash'))).toBeUndefined();
  });

  it('rejects events that no activity produces', () => {
    expect(() => encodeEvent({ type: 'cancelled', atMs: 1 })).toThrow('cancelled');
  });
});
