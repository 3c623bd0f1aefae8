import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { unstorablePaths } from './unstorable-paths.ts';

const name = z.string();
const data = z.unknown();
const UNSTORABLE_TEXT = 'a\0';

describe('the paths of strings that cannot be stored', () => {
  it.each<[string, z.ZodType, unknown, (string | number)[][]]>([
    ['NUL', name, 'a\0b', [[]]],
    ['a lone high surrogate', name, '\uD83D', [[]]],
    ['a lone low surrogate', name, '\uDE00x', [[]]],
    ['a surrogate pair', name, '😀', []],
    ['an optional field', z.object({ a: name.optional() }), { a: UNSTORABLE_TEXT }, [['a']]],
    ['a field with a default', z.object({ a: name.default('x') }), { a: UNSTORABLE_TEXT }, [['a']]],
    ['a field that may be null', z.object({ a: name.nullish() }), { a: null }, []],
    ['an array', z.array(name), ['a', UNSTORABLE_TEXT], [[1]]],
    ['a tuple', z.tuple([z.int(), name]), [1, UNSTORABLE_TEXT], [[1]]],
    ['a key', z.record(name, z.object({})), { [UNSTORABLE_TEXT]: {} }, [[UNSTORABLE_TEXT]]],
    [
      'the value of a key',
      z.record(name, z.object({ b: name })),
      { a: { b: UNSTORABLE_TEXT } },
      [['a', 'b']],
    ],
    ['a union', z.union([z.object({ a: z.int() }), z.object({ a: name })]), { a: UNSTORABLE_TEXT }, [['a']]],
    ['data', data, UNSTORABLE_TEXT, []],
    ['optional data', z.object({ a: data.optional() }), { a: UNSTORABLE_TEXT }, []],
    ['keys and values of data', z.record(name, data), { [UNSTORABLE_TEXT]: UNSTORABLE_TEXT }, []],
    ['other fields of a loose object', z.looseObject({ a: name }), { a: 'a', b: UNSTORABLE_TEXT }, []],
  ])('are correct for: %s', (_title, schema, value, paths) => {
    expect(schema.safeParse(value).success).toBe(true);
    expect(unstorablePaths(schema, value)).toEqual(paths);
  });
});
