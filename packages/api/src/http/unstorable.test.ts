import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { unstorablePaths } from './unstorable.ts';

const name = z.string();
const data = z.unknown();
const HOSTILE = 'a\0';

describe('strings that cannot be stored', () => {
  it.each<[string, z.ZodType, unknown, (string | number)[][]]>([
    ['NUL', name, 'a\0b', [[]]],
    ['half of a surrogate pair', name, '\uD83D', [[]]],
    ['the other half', name, '\uDE00x', [[]]],
    ['a whole pair', name, '😀', []],
    ['an optional field', z.object({ a: name.optional() }), { a: HOSTILE }, [['a']]],
    ['a field with a default', z.object({ a: name.default('x') }), { a: HOSTILE }, [['a']]],
    ['a field that may be null', z.object({ a: name.nullish() }), { a: null }, []],
    ['a list', z.array(name), ['a', HOSTILE], [[1]]],
    ['a tuple', z.tuple([z.int(), name]), [1, HOSTILE], [[1]]],
    ['a key', z.record(name, z.object({})), { [HOSTILE]: {} }, [[HOSTILE]]],
    ['a value below a key', z.record(name, z.object({ b: name })), { a: { b: HOSTILE } }, [['a', 'b']]],
    [
      'one of several forms',
      z.union([z.object({ a: z.int() }), z.object({ a: name })]),
      { a: HOSTILE },
      [['a']],
    ],
    ['data', data, HOSTILE, []],
    ['optional data', z.object({ a: data.optional() }), { a: HOSTILE }, []],
    ['keys and values of data', z.record(name, data), { [HOSTILE]: HOSTILE }, []],
    ['other fields of a loose object', z.looseObject({ a: name }), { a: 'a', b: HOSTILE }, []],
  ])('are found in %s', (_title, schema, value, paths) => {
    expect(schema.safeParse(value).success).toBe(true);
    expect(unstorablePaths(schema, value)).toEqual(paths);
  });
});
