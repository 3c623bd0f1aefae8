import { describe, expect, it } from 'vitest';
import type { Json, JsonObject } from '@heddle/core/blocks';
import { compileSchema } from './json-schema.ts';
import type { SchemaCheck } from './json-schema.ts';

const compiled = (schema: JsonObject): SchemaCheck => compileSchema(schema, (why) => new Error(why));

/** Definitions of which each refers twice to the one before: `n` of them need 2^n evaluations. */
const doubling = (n: number, first: JsonObject): JsonObject => ({
  $ref: `#/$defs/d${n}`,
  $defs: Object.fromEntries([
    ['d0', first],
    ...Array.from({ length: n }, (_, index) => [
      `d${index + 1}`,
      { allOf: [{ $ref: `#/$defs/d${index}` }, { $ref: `#/$defs/d${index}` }] },
    ]),
  ]) as JsonObject,
});

describe('schemas of arguments', () => {
  it('name what differs', () => {
    const check = compiled({ type: 'object', properties: { a: { type: 'number' } }, required: ['a'] });
    expect(check({ a: 1 })).toBeUndefined();
    expect(check({ a: 'x' })).toContain('#/a');
    expect(check({})).toContain('required');
  });

  it('that evaluate one value any number of times are refused', () => {
    expect(() => compiled(doubling(40, { type: ['null', 'string'] }))).toThrow('takes too long to check');
    expect(() => compiled(doubling(40, { type: 'string' }))).toThrow('takes too long to check');
    expect(() => compiled({ $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/a' } } })).toThrow(
      'takes too long to check',
    );
  });

  it('that evaluate deep values any number of times do not match them', () => {
    const child = { properties: { x: { $ref: '#/$defs/node' } } };
    const check = compiled({
      $ref: '#/$defs/node',
      $defs: { node: { allOf: [child, child] } },
    });
    expect(check({ x: { x: {} } })).toBeUndefined();
    const deep = Array.from({ length: 40 }).reduce<Json>((inner) => ({ x: inner }), {});
    expect(check(deep)).toBe('the check takes too long: use a smaller value');
    expect(check({ x: { x: {} } })).toBeUndefined();
  });

  it.each<JsonObject>([
    { $id: 'http://[' },
    { properties: { '\uDC00': {} } },
    { $ref: '#/$defs/none' },
    { properties: { a: { $recursiveRef: '#' } }, $ref: '#nowhere' },
  ])('that are none are refused: %j', (schema) => {
    expect(() => compiled(schema)).toThrow(/^is not a JSON Schema: /);
  });

  it('compare no items with one another, and run no expressions', () => {
    const check = compiled({
      type: 'object',
      properties: {
        list: { type: 'array', uniqueItems: true },
        text: { type: 'string', pattern: '^(a+)+$', format: 'email' },
      },
    });
    expect(check({ list: [1, 1], text: `${'a'.repeat(50)}!` })).toBeUndefined();
  });

  it('with patterns of names allow other properties, because the patterns are not checked', () => {
    const check = compiled({ patternProperties: { '^x-': {} }, additionalProperties: false });
    expect(check({ 'x-a': 1 })).toBeUndefined();
  });
});
