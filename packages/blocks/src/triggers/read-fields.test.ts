import type { Json } from '@heddle/core/blocks';
import { expect, it } from 'vitest';
import { describeBlocks } from '../index.ts';
import { triggerTypes } from './index.ts';

/** The fields of all described blocks, and those of triggers that are not described. */
const NAMES = new Set([
  ...(await describeBlocks()).flatMap(({ fields }) => Object.keys(fields['properties'] as object)),
  ...['credential', 'eventTypes', 'labelIds', 'labelFilterBehavior', 'owner', 'repo', 'searchQuery'],
  ...['selectedTriggerId', 'teamId', 'triggerCredentials'],
]);

const VALUES: { readonly [title: string]: Json } = {
  'long text': 'x'.repeat(70_000),
  'text with empty parts': ' ,, ',
  'a long list': Array.from({ length: 1000 }, () => 'x'),
  'a list of long texts': ['x'.repeat(70_000)],
  'a large number': 1e12,
  'a negative number': -1,
  'an object': { name: 'value' },
};

it.each(triggerTypes.map((type) => [type.type, type] as const))(
  'each problem of a field of %s says what the value must be',
  (_, type) => {
    const unclearProblems = Object.entries(VALUES).flatMap(([title, value]) => {
      const result = type.parseConfig(Object.fromEntries([...NAMES].map((name) => [name, value])));
      const problems = 'problems' in result ? result.problems : [];
      return problems
        .filter(({ message }) => /too (big|small)|expected|invalid|unrecognized/i.test(message))
        .map(({ field, message }) => `${field} with ${title}: ${message}`);
    });
    expect(unclearProblems).toEqual([]);
  },
);
