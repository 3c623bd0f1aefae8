import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Json } from '../json.ts';
import { canonicalJson } from './content-hash.ts';

/** Returns canonical JSON by a slow reference implementation. */
function referenceCanonicalJson(value: Json): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(referenceCanonicalJson).join(',')}]`;
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  const members = entries.map(([key, item]) => `${JSON.stringify(key)}:${referenceCanonicalJson(item)}`);
  return `{${members.join(',')}}`;
}

describe('canonical JSON', () => {
  it('has its keys in code-unit order, even keys that objects order as numbers', () => {
    expect(canonicalJson({ b: [{ z: 1, a: null }], a: { 9: true, 10: '"' } })).toBe(
      '{"a":{"10":"\\"","9":true},"b":[{"a":null,"z":1}]}',
    );
  });

  it('omits absent properties, in ordered and unordered objects', () => {
    const absent = undefined as unknown as Json;
    expect(canonicalJson({ a: { x: absent, y: 1 }, b: { y: 1, x: absent } })).toBe(
      '{"a":{"y":1},"b":{"y":1}}',
    );
  });

  it('equals the output of the reference implementation, for ordered and unordered values', () => {
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
        expect(canonicalJson(json)).toBe(referenceCanonicalJson(json));
      }),
    );
  });
});
