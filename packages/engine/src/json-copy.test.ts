import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { pickByScale } from '../../../test/support/scale.ts';
import { jsonCopy } from './json-copy.ts';

describe('jsonCopy', () => {
  it('returns the result of JSON.stringify for any value, and an upper bound on its size', () => {
    const values = fc.anything({
      withDate: true,
      withObjectString: true,
      withBoxedValues: false,
      maxDepth: 4,
    });
    fc.assert(
      fc.property(values, (value) => {
        fc.pre(isSerializable(value));
        const text = JSON.stringify(value) ?? 'null';
        const { json, maxBytes } = jsonCopy(value, 'It');
        expect(json).toStrictEqual(JSON.parse(text));
        expect(maxBytes).toBeGreaterThanOrEqual(Buffer.byteLength(JSON.stringify(json)));
      }),
      { numRuns: pickByScale(300, 20_000) },
    );
  });

  it('does not share objects with the value', () => {
    const value = { list: [{ n: 1 }] };
    const { json } = jsonCopy(value, 'It');
    value.list[0] = { n: 2 };
    expect(json).toEqual({ list: [{ n: 1 }] });
  });

  it('keeps a key named __proto__ as data', () => {
    const { json } = jsonCopy(JSON.parse('{"__proto__": {"polluted": true}}'), 'It');
    expect(JSON.stringify(json)).toBe('{"__proto__":{"polluted":true}}');
    expect(Object.getPrototypeOf(json)).toBe(Object.prototype);
  });

  it.each([
    [{ a: [0, { b: 1n }] }, '"a.1.b" is a bigint'],
    [() => 1, 'it is a function'],
    [{ a: Symbol('s') }, '"a" is a symbol'],
  ])('rejects a value that is not JSON, with its path', (value, message) => {
    expect(() => jsonCopy(value, 'It')).toThrow(message);
  });

  it('rejects a circular value', () => {
    const value: { self?: unknown } = {};
    value.self = { value };
    expect(() => jsonCopy(value, 'It')).toThrow('contains itself');
  });
});

/** Returns true for a value without functions, symbols and bigints, which are rejected. */
function isSerializable(value: unknown): boolean {
  if (typeof value === 'bigint' || typeof value === 'symbol' || typeof value === 'function') return false;
  if (typeof value !== 'object' || value === null) return true;
  return Object.values(value).every(isSerializable);
}
