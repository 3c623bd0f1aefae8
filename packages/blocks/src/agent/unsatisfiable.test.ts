import type { Json } from '@heddle/core';
import { describe, expect, it } from 'vitest';
import { unsatisfiableReason } from './unsatisfiable.ts';

const object = (more: { [key: string]: Json }): Json => ({ type: 'object', ...more });

describe('a schema that no value matches', () => {
  it.each<[Json, RegExp]>([
    [false, /allows no value/],
    [{ enum: [] }, /empty "enum"/],
    [{ type: [] }, /empty list of types/],
    [{ type: 'number', enum: ['one', 'two'] }, /"enum" or "const"/],
    [{ type: 'string', const: 1 }, /"enum" or "const"/],
    [{ type: 'number', minimum: 5, maximum: 4 }, /"minimum" above "maximum"/],
    [object({ required: ['a'], additionalProperties: false }), /requires "a", which it does not allow/],
    [object({ required: ['a'], properties: { a: false } }), /"a" allows no value/],
    [
      object({ required: ['a'], properties: { a: { type: 'array', minItems: 1, items: false } } }),
      /item of "a"/,
    ],
    [{ allOf: [{ type: 'string' }, { enum: [] }] }, /empty "enum"/],
    [{ anyOf: [false, { enum: [] }] }, /allows no value/],
    [{ oneOf: [] }, /empty "oneOf"/],
  ])('%j is recognized', (schema, why) => {
    expect(unsatisfiableReason(schema)).toMatch(why);
  });

  it.each<Json>([
    true,
    {},
    object({ required: ['a'], properties: { a: {} }, additionalProperties: false }),
    object({ properties: { a: false } }),
    object({ required: ['a'] }),
    { required: ['a'], additionalProperties: false },
    object({ required: ['a'], patternProperties: { a: {} }, additionalProperties: false }),
    { type: 'array', items: false },
    { type: 'integer', enum: [1, 'x'] },
    { type: ['string', 'null'], const: null },
    { anyOf: [false, { type: 'string' }] },
    { minimum: 4, maximum: 4 },
  ])('%j is not such a schema', (schema) => {
    expect(unsatisfiableReason(schema)).toBeUndefined();
  });
});
