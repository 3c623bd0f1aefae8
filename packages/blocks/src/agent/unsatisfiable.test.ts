import type { Json } from '@heddle/core';
import { describe, expect, it } from 'vitest';
import { unsatisfiableReason } from './unsatisfiable.ts';

const objectSchema = (keywords: { [key: string]: Json }): Json => ({ type: 'object', ...keywords });

describe('the reason why no value matches a schema', () => {
  it.each<[Json, RegExp]>([
    [false, /allows no value/],
    [{ enum: [] }, /empty "enum"/],
    [{ type: [] }, /empty list of types/],
    [{ type: 'number', enum: ['one', 'two'] }, /"enum" or "const"/],
    [{ type: 'string', const: 1 }, /"enum" or "const"/],
    [{ type: 'number', minimum: 5, maximum: 4 }, /"minimum" above "maximum"/],
    [objectSchema({ required: ['a'], additionalProperties: false }), /requires "a", which it does not allow/],
    [objectSchema({ required: ['a'], properties: { a: false } }), /"a" allows no value/],
    [
      objectSchema({ required: ['a'], properties: { a: { type: 'array', minItems: 1, items: false } } }),
      /item of "a"/,
    ],
    [{ allOf: [{ type: 'string' }, { enum: [] }] }, /empty "enum"/],
    [{ anyOf: [false, { enum: [] }] }, /allows no value/],
    [{ oneOf: [] }, /empty "oneOf"/],
  ])('is found for %j', (schema, reason) => {
    expect(unsatisfiableReason(schema)).toMatch(reason);
  });

  it.each<Json>([
    true,
    {},
    objectSchema({ required: ['a'], properties: { a: {} }, additionalProperties: false }),
    objectSchema({ properties: { a: false } }),
    objectSchema({ required: ['a'] }),
    { required: ['a'], additionalProperties: false },
    objectSchema({ required: ['a'], patternProperties: { a: {} }, additionalProperties: false }),
    { type: 'array', items: false },
    { type: 'integer', enum: [1, 'x'] },
    { type: ['string', 'null'], const: null },
    { anyOf: [false, { type: 'string' }] },
    { minimum: 4, maximum: 4 },
  ])('is undefined for %j', (schema) => {
    expect(unsatisfiableReason(schema)).toBeUndefined();
  });
});
