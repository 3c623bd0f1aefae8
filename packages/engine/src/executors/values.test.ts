import { describe, expect, it } from 'vitest';
import type { Json } from '@heddle/core/blocks';
import { asPairs, asRows, asText } from './values.ts';

describe('field values', () => {
  it.each<[Json | undefined, string]>([
    [undefined, ''],
    [null, ''],
    ['a', 'a'],
    [0, '0'],
    [false, 'false'],
    [{ a: 1 }, '{"a":1}'],
  ])('asText(%j) returns %j', (value, text) => {
    expect(asText(value)).toBe(text);
  });

  it.each<[Json | undefined, unknown]>([
    [[{ a: 1 }, 'x', null], [{ a: 1 }]],
    ['[{"a":1}]', undefined],
    ['  ', []],
    [null, []],
    [undefined, []],
    ['{oops', undefined],
    [{ a: 1 }, undefined],
  ])('asRows(%j) returns %j', (value, rows) => {
    expect(asRows(value)).toEqual(rows);
  });

  it.each<[Json | undefined, unknown]>([
    [[{ id: '1', cells: { Key: ' X ', Value: 1 } }, { cells: { Key: '', Value: 'z' } }], [['X', '1']]],
    [[{ key: 'a', value: { b: 1 } }], [['a', '{"b":1}']]],
    [
      { a: 1, b: null },
      [
        ['a', '1'],
        ['b', ''],
      ],
    ],
    ['{"a": "1"}', undefined],
    [null, []],
    ['nope', undefined],
    [5, undefined],
  ])('asPairs(%j) returns %j', (value, pairs) => {
    expect(asPairs(value)).toEqual(pairs);
  });
});
