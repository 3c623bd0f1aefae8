import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Json } from '../json.ts';
import { canonicalJson } from './content-hash.ts';

/** The definition, read aloud: slow, and never in another order. */
function spelled(value: Json): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(spelled).join(',')}]`;
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${spelled(item)}`).join(',')}}`;
}

describe('canonical JSON', () => {
  it('has its keys in code-unit order, also those that objects hold in the order of numbers', () => {
    expect(canonicalJson({ b: [{ z: 1, a: null }], a: { 9: true, 10: '"' } })).toBe(
      '{"a":{"10":"\\"","9":true},"b":[{"a":null,"z":1}]}',
    );
  });

  it('leaves absent properties out, in objects that are in order and in others', () => {
    const absent = undefined as unknown as Json;
    expect(canonicalJson({ a: { x: absent, y: 1 }, b: { y: 1, x: absent } })).toBe(
      '{"a":{"y":1},"b":{"y":1}}',
    );
  });

  it('is one text, whatever is in order and whatever is not', () => {
    const key = fc.constantFrom('a', 'b', 'c', '1', '10', '2', 'é', '"');
    const { value } = fc.letrec<{ value: Json }>((tie) => ({
      value: fc.oneof(
        { depthSize: 'small' },
        fc.constantFrom<Json>(null, true, 0, -1.5, '', 'text', '\u2028"'),
        fc.array(tie('value'), { maxLength: 4 }),
        fc.dictionary(key, tie('value'), { maxKeys: 5 }),
      ),
    }));
    fc.assert(
      fc.property(value, (json) => {
        expect(canonicalJson(json)).toBe(spelled(json));
      }),
    );
  });
});
