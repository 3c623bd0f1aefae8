import { describe, expect, it } from 'vitest';
import { coerceAtStart, coerceOnRead } from './coerce.ts';
import type { Variable } from './workflow.ts';
import type { Json } from '../json.ts';

type Case = [type: Variable['type'], value: Json, expected: Json];

describe('a variable at the start of a run', () => {
  it.each<Case>([
    ['number', '4.5', 4.5],
    ['number', 'abc', 0],
    ['number', null, 0],
    ['number', [1], 0],
    ['boolean', 'TRUE', true],
    ['boolean', 'yes', false],
    ['boolean', 1, false],
    ['boolean', null, false],
    ['object', '{"k": 2}', { k: 2 }],
    ['object', 'nope', {}],
    ['object', '', {}],
    ['object', '[1]', [1]],
    ['object', null, {}],
    ['array', '[1, 2]', [1, 2]],
    ['array', 'nope', []],
    ['array', [3], [3]],
    ['string', '"quoted"', '"quoted"'],
    ['string', 5, '5'],
    ['string', { a: 1 }, '{"a":1}'],
    ['plain', null, ''],
    ['plain', 7, '7'],
  ])('of type %s stored as %j is %j', (type, value, expected) => {
    expect(coerceAtStart(type, value)).toEqual(expected);
  });
});

describe('reading a variable', () => {
  it.each<Case>([
    ['number', '', ''],
    ['object', null, null],
    ['number', '"5"', 5],
    ['number', 'x', 0],
    ['boolean', "'true'", true],
    ['boolean', 'no', false],
    ['object', '{"a": 1}', { a: 1 }],
    ['object', '{bad', {}],
    ['object', 'text', { value: 'text' }],
    ['object', 5, { value: 5 }],
    ['object', [1], [1]],
    ['array', { a: 1 }, [{ a: 1 }]],
    ['array', '[1]', [1]],
    ['array', '[bad', []],
    ['array', 'a', ['a']],
    ['array', false, [false]],
    ['string', '"kept"', '"kept"'],
    ['plain', 5, 5],
  ])('of type %s with the value %j gives %j', (type, value, expected) => {
    expect(coerceOnRead(type, value)).toEqual(expected);
  });
});
