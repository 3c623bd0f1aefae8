import { describe, expect, it } from 'vitest';
import { findExceededComplexityLimit } from './json-complexity.ts';

const nestedLists = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);
const TOO_MANY_LEVELS = 'more than 9 levels';
const TOO_MANY_CONTAINERS = 'more than 50 lists and objects';

describe('the check of levels and containers in JSON', () => {
  it.each<[description: string, json: string, excess: string | undefined]>([
    ['lists at the limit', nestedLists(9), undefined],
    ['lists beyond the limit', nestedLists(10), TOO_MANY_LEVELS],
    ['objects beyond the limit', '{"a":'.repeat(10) + '1' + '}'.repeat(10), TOO_MANY_LEVELS],
    ['siblings below the limit', `[${Array(24).fill('{"a":[]}').join()}]`, undefined],
    ['too many siblings', `[${Array(25).fill('{"a":[]}').join()}]`, TOO_MANY_CONTAINERS],
    ['brackets in strings', JSON.stringify({ '[[[[[[[[[[[[': '{{{{{{{{{{{{"[[[[[[[[\\"' }), undefined],
    ['brackets after a string that ends in a backslash', `["\\\\",${nestedLists(9)}]`, TOO_MANY_LEVELS],
    ['an unterminated string', `["${'['.repeat(99)}`, undefined],
  ])('handles %s', (_description, json, excess) => {
    expect(findExceededComplexityLimit(json, { levels: 9, containers: 50 })).toBe(excess);
  });
});
