import { describe, expect, it } from 'vitest';
import { isNestedDeeper } from './nesting.ts';

const lists = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);

describe('the levels of JSON', () => {
  it.each<[what: string, json: string, deeper: boolean]>([
    ['lists at the limit', lists(9), false],
    ['lists beyond it', lists(10), true],
    ['objects beyond it', '{"a":'.repeat(10) + '1' + '}'.repeat(10), true],
    ['many beside each other', `[${Array(99).fill('{"a":[]}').join()}]`, false],
    ['brackets in texts', JSON.stringify({ '[[[[[[[[[[[[': '{{{{{{{{{{{{"[[[[[[[[\\"' }), false],
    ['brackets behind a text that ends in a backslash', `["\\\\",${lists(9)}]`, true],
    ['a text without end', `["${'['.repeat(99)}`, false],
  ])('of %s are counted', (_what, json, deeper) => {
    expect(isNestedDeeper(json, 9)).toBe(deeper);
  });
});
