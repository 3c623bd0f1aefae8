import { describe, expect, it } from 'vitest';
import { complexityExcess } from './json-complexity.ts';

const nestedLists = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);
const LEVELS = 'more than 9 levels';
const CONTAINERS = 'more than 50 lists and objects';

describe('the levels and containers of JSON', () => {
  it.each<[what: string, json: string, excess: string | undefined]>([
    ['lists at the limit', nestedLists(9), undefined],
    ['lists beyond the limit', nestedLists(10), LEVELS],
    ['objects beyond the limit', '{"a":'.repeat(10) + '1' + '}'.repeat(10), LEVELS],
    ['some siblings', `[${Array(24).fill('{"a":[]}').join()}]`, undefined],
    ['too many siblings', `[${Array(25).fill('{"a":[]}').join()}]`, CONTAINERS],
    ['brackets in strings', JSON.stringify({ '[[[[[[[[[[[[': '{{{{{{{{{{{{"[[[[[[[[\\"' }), undefined],
    ['brackets after a string that ends in a backslash', `["\\\\",${nestedLists(9)}]`, LEVELS],
    ['an unterminated string', `["${'['.repeat(99)}`, undefined],
  ])('of %s are counted', (_what, json, excess) => {
    expect(complexityExcess(json, { levels: 9, containers: 50 })).toBe(excess);
  });
});
