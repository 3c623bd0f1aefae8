import { describe, expect, it } from 'vitest';
import { fingerprintOf } from './fingerprint.ts';

describe('a fingerprint', () => {
  it('is equal for the same entries in another order, and has 64 hexadecimal digits', () => {
    const fingerprint = fingerprintOf({ a: 1, b: { c: [1, 2], d: null } });
    expect(fingerprintOf({ b: { d: null, c: [1, 2] }, a: 1 })).toBe(fingerprint);
    expect(fingerprint).toMatch(/^[0-9a-f]{64}$/);
  });

  it.each([
    [{ a: [1, 2] }, { a: [2, 1] }],
    [{ a: null }, {}],
    [{ a: 1 }, { a: '1' }],
    [JSON.parse('{"__proto__":1}'), {}],
  ])('differs for %j and %j', (value, otherValue) => {
    expect(fingerprintOf(value)).not.toBe(fingerprintOf(otherValue));
  });
});
