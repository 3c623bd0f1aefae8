import { describe, expect, it } from 'vitest';
import type { Json } from '../json.ts';
import { followPath, parsePath } from './path.ts';

const value: Json = {
  a: { b: 1, '0': 'zero', '': 'empty key' },
  l: [10, [20, 21], { k: 'v' }],
  s: 'text',
  n: null,
  f: false,
  z: 0,
  e: '',
};

describe('a path (V215-V240)', () => {
  it.each<[string, Json | undefined]>([
    ['a.b', 1],
    ['l[0]', 10],
    ['l[1][1]', 21],
    ['l.1[1]', 21],
    ['l.2.k', 'v'],
    ['l[2].k', 'v'],
    ['l[01]', [20, 21]],
    ['l.length', 3],
    ['l[1].length', 2],
    ['n', null],
    ['f', false],
    ['z', 0],
    ['e', ''],
    ['a.', 'empty key'],
  ])('%s resolves to its value', (path, expected) => {
    expect(followPath(value, parsePath(path))).toEqual(expected);
  });

  it.each([
    'a.none',
    'a.b.c.d',
    'n.x.y',
    'l[9]',
    'l.9',
    'l.k',
    'l.',
    'a[0]',
    'a.0',
    's.length',
    's[0]',
    'z.toFixed',
    'l[99999999999999999999]',
  ])('%s is empty without an error', (path) => {
    expect(followPath(value, parsePath(path))).toBeUndefined();
  });

  it.each(['l[-1]', 'l[x]', 'l[', 'l[]', 'l[0', 'l]0[', 'l[0]x', 'l[1.5]', 'l[ 1 ]', 'l.[-1]'])(
    '%s is malformed and empty, never the whole array',
    (path) => {
      expect(followPath(value, parsePath(path))).toBeUndefined();
    },
  );

  it('a key with a space is empty, even if the value has a key of that name (r298)', () => {
    expect(followPath({ 'odd key': 1 }, parsePath('odd key'))).toBeUndefined();
  });

  it.each(['__proto__', 'constructor', 'toString', '__proto__.polluted', 'l.map', 'l.constructor'])(
    '%s never reads an inherited property',
    (path) => {
      expect(followPath(value, parsePath(path))).toBeUndefined();
    },
  );

  it('an own property called __proto__ is data like any other', () => {
    expect(followPath(JSON.parse('{"__proto__": {"k": 1}}') as Json, parsePath('__proto__.k'))).toBe(1);
  });
});
