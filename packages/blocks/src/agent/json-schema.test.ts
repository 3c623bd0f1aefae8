import { describe, expect, it } from 'vitest';
import { measureCpuMs } from '../../../../test/support/cpu.ts';
import type { Json, JsonObject } from '@heddle/core/blocks';
import { compileSchema, withCheckedPatterns } from './json-schema.ts';
import type { SchemaCheck } from './json-schema.ts';

const compile = (schema: JsonObject): SchemaCheck => compileSchema(schema, (problem) => new Error(problem));

/** Returns `n` definitions that each refer twice to the previous one: they need 2^n evaluations. */
const doublingSchema = (n: number, firstDefinition: JsonObject): JsonObject => ({
  $ref: `#/$defs/d${n}`,
  $defs: Object.fromEntries([
    ['d0', firstDefinition],
    ...Array.from({ length: n }, (_, index) => [
      `d${index + 1}`,
      { allOf: [{ $ref: `#/$defs/d${index}` }, { $ref: `#/$defs/d${index}` }] },
    ]),
  ]) as JsonObject,
});

describe('schemas of arguments', () => {
  it('report each difference', () => {
    const check = compile({ type: 'object', properties: { a: { type: 'number' } }, required: ['a'] });
    expect(check({ a: 1 })).toBeUndefined();
    expect(check({ a: 'x' })).toContain('#/a');
    expect(check({})).toContain('required');
  });

  it('that evaluate one value without limit are refused', () => {
    expect(() => compile(doublingSchema(40, { type: ['null', 'string'] }))).toThrow(
      'takes too long to check',
    );
    expect(() => compile(doublingSchema(40, { type: 'string' }))).toThrow('takes too long to check');
    expect(() => compile({ $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/a' } } })).toThrow(
      'takes too long to check',
    );
  });

  it('that evaluate deep values without limit do not match them', () => {
    const child = { properties: { x: { $ref: '#/$defs/node' } } };
    const check = compile({
      $ref: '#/$defs/node',
      $defs: { node: { allOf: [child, child] } },
    });
    expect(check({ x: { x: {} } })).toBeUndefined();
    const deepValue = Array.from({ length: 40 }).reduce<Json>((nestedValue) => ({ x: nestedValue }), {});
    expect(check(deepValue)).toBe('the check takes too long: use a smaller value');
    expect(check({ x: { x: {} } })).toBeUndefined();
  });

  it.each<JsonObject>([
    { $id: 'http://[' },
    { properties: { '\uDC00': {} } },
    { $ref: '#/$defs/none' },
    { properties: { a: { $recursiveRef: '#' } }, $ref: '#nowhere' },
  ])('that are not JSON Schemas are refused: %j', (schema) => {
    expect(() => compile(schema)).toThrow(/^is not a JSON Schema: /);
  });

  it('ignore "uniqueItems"', () => {
    const check = compile({ properties: { list: { type: 'array', uniqueItems: true } } });
    expect(check({ list: [1, 1] })).toBeUndefined();
  });

  const compilePattern = (text: string): SchemaCheck =>
    compile({ type: 'object', properties: { text: { type: 'string', pattern: text } } });

  it.each([
    [String.raw`^\d+\.\d+$`, '17.5', '17'],
    ['^[a-z]+(?:-[a-z]+)*$', 'a-b', 'a--b'],
    [String.raw`^\p{L}{2,5}$`, 'Zoë', '12'],
    [String.raw`\u00e9`, 'café', 'cafe'],
    ['b', 'abc', 'acd'],
    ['^(a|b)?$', '', 'ab'],
    [String.raw`^[\w.+-]{1,64}@(?:[\w-]{1,63}\.){1,8}[a-z]{2,63}$`, 'ada@mail.example.com', 'ada@'],
  ])('check the pattern %s', (pattern, match, mismatch) => {
    const check = compilePattern(pattern);
    expect(check({ text: match })).toBeUndefined();
    expect(check({ text: mismatch })).toContain('#/text: String does not match its pattern');
    expect(check({ text: match })).toBeUndefined();
  });

  it('check several patterns, each for its value', () => {
    const check = compile({
      properties: {
        a: { pattern: '^a$' },
        b: { pattern: '^b$' },
        c: { anyOf: [{ pattern: '^c' }, { pattern: 'd$' }] },
      },
    });
    expect(check({ a: 'a', b: 'b', c: 'xd' })).toBeUndefined();
    expect(check({ a: 'b', b: 'b' })).toContain('#/a');
    expect(check({ a: 'a', b: 'a' })).toContain('#/b');
    expect(check({ c: 'x' })).toContain('#/c');
    expect(check({ a: 7 })).toBeUndefined();
  });

  it.each([
    '^(a+)+$',
    '^(a|a)*$',
    '^(a|aa)+$',
    '^(.*)*$',
    '(x+x+)+y',
    '^(([a-z])+.)+[A-Z]([a-z])+$',
    '^(?:[a-z]{0,300}){0,3}$',
  ])('check in linear time a pattern that takes other engines years: %s', (pattern) => {
    const check = compilePattern(pattern);
    const value = { text: `${'a'.repeat(19_000)}!` };
    expect(measureCpuMs(() => check(value))).toBeLessThan(5000);
  });

  it.each([
    ['a look-ahead', '^(?=a)b', /pattern "\^\(\?=a\)b", which cannot be checked/],
    ['a back-reference', String.raw`(a)\1`, /cannot be checked/],
    ['an invalid one', '(', /cannot be checked/],
    ['a long one', 'a'.repeat(1001), /more than 1000 characters/],
    ['one that becomes large', `(${'abc'.repeat(100)}){0,1000}`, /repeats too much/],
    ['one that becomes large by nested repetitions', '((((a{9}){9}){9}){9}){9}', /repeats too much/],
    ['one that becomes large by many repetitions', '[a-z]{0,900}'.repeat(80), /repeats too much/],
  ])('may not have %s as a pattern', (_description, pattern, message) => {
    expect(() => compilePattern(pattern)).toThrow(message);
  });

  it('with more patterns than can be compiled in a second are refused', () => {
    const properties = Object.fromEntries(
      Array.from({ length: 30 }, (_, n) => [`p${n}`, { pattern: `${n}a{900}` }]),
    );
    expect(() => compile({ properties })).toThrow(/exceeds the limit for all patterns together/);
    const uncheckedPatterns: string[] = [];
    const check = compile(withCheckedPatterns({ properties }, (pattern) => uncheckedPatterns.push(pattern)));
    expect(check({ p0: 'x' })).toContain('#/p0');
    expect(uncheckedPatterns.length).toBeGreaterThan(5);
  });

  it('match neither a text that is too long for a pattern nor too many texts', () => {
    expect(compilePattern('^a*$')({ text: 'a'.repeat(20_001) })).toContain('#/text');
    const check = compile({ items: { pattern: '^a*$' } });
    expect(check(Array.from({ length: 11 }, () => 'a'.repeat(20_000)))).toBe(
      'the check takes too long: use a smaller value',
    );
  });

  it('of third-party tools move patterns that cannot be checked to the description', () => {
    const uncheckedPatterns: string[] = [];
    const schema = { properties: { a: { pattern: '^(?=x)', description: 'An a.' }, b: { pattern: '^b$' } } };
    expect(withCheckedPatterns(schema, (pattern) => uncheckedPatterns.push(pattern))).toEqual({
      properties: { a: { description: 'An a. (Pattern, not checked: ^(?=x))' }, b: { pattern: '^b$' } },
    });
    expect(uncheckedPatterns).toEqual(['^(?=x)']);
  });

  it('with "patternProperties" check matching names, and other names as additional properties', () => {
    const check = compile({
      properties: { id: { type: 'number' }, 'x-id': { type: 'number' } },
      patternProperties: { '^x-': { type: ['string', 'number'] }, y$: { maxLength: 2 } },
      additionalProperties: false,
    });
    expect(check({ id: 1, 'x-a': 'a', 'x-y': 'ab', 'x-id': 1 })).toBeUndefined();
    expect(check({ id: 'one' })).toContain('#/id');
    expect(check({ 'x-a': null })).toContain('#/x-a');
    expect(check({ 'x-y': 'abc' })).toContain('#/x-y');
    expect(check({ 'x-id': 'one' })).toContain('#/x-id');
    expect(check({ a: 1 })).toContain('"a" does not match additional properties');
    expect(check({ 'x-a': 'a', '.': 1 })).toContain('additional properties');
    expect(check(['x'])).toBeUndefined();
  });

  it('with "patternProperties" check objects in objects, also by references and beside "unevaluatedProperties"', () => {
    const check = compile({
      $ref: '#/$defs/node',
      $defs: {
        node: {
          type: 'object',
          properties: { child: { $ref: '#/$defs/node' } },
          patternProperties: { '^n': { $ref: '#/$defs/number' }, '^c_': { $ref: '#/$defs/node' } },
          unevaluatedProperties: false,
        },
        number: { type: 'number' },
      },
    });
    expect(check({ child: { n1: 1, c_a: { n: 2 } }, n2: 2 })).toBeUndefined();
    expect(check({ child: { n1: 1 }, n2: 'two' })).toContain('#/n2');
    expect(check({ n2: 2, c_a: { c_b: { n: 'x' } } })).toContain('#/c_a/c_b/n');
    expect(check({ child: { z: 1 } })).toContain('#/child/z');
  });

  it('may have properties with the names of keywords', () => {
    const properties = {
      pattern: { type: 'string' },
      patternProperties: { type: 'number' },
      format: { type: 'string' },
    };
    const check = compile(withCheckedPatterns({ properties, additionalProperties: false }));
    expect(check({ pattern: '(', patternProperties: 1, format: 'x' })).toBeUndefined();
    expect(check({ patternProperties: 'x' })).toContain('#/patternProperties');
    expect(check({ allOf: 1 })).toContain('additional properties');
  });

  it('with "patternProperties" that take other engines years are checked in linear time', () => {
    const check = compile({ patternProperties: { '^(a+)+$': {} }, additionalProperties: false });
    const objectWithManyNames = Object.fromEntries(
      Array.from({ length: 1000 }, (_, n) => ['a'.repeat(n + 1), 1]),
    );
    const cpuMs = measureCpuMs(() => {
      expect(check({ [`${'a'.repeat(19_000)}!`]: 1 })).toContain('additional properties');
      expect(check(objectWithManyNames)).toBe('the check takes too long: use a smaller value');
    });
    expect(cpuMs).toBeLessThan(5000);
  });

  it('with "patternProperties" that cannot be checked are refused, or have them moved to the description', () => {
    const schema = { patternProperties: { '^(?=x)': {}, '^b': {} }, additionalProperties: false };
    expect(() => compile(schema)).toThrow(/^has patterns of names .* that cannot be checked/);
    expect(withCheckedPatterns(schema)).toEqual({
      patternProperties: { '^b': {} },
      description: '(Patterns of names, not checked: ^(?=x))',
    });
  });
});
