import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { pickByScale } from '../../../../test/support/scale.ts';
import { SimilarNames } from './similar-names.ts';

const findNearest = (query: string, names: readonly string[]) => new SimilarNames(names).findNearest(query);

/**
 * Returns the number of insertions, deletions, substitutions and transpositions that turn `a` into `b`,
 * computed with the full table.
 */
function editDistance(a: string, b: string): number {
  const rows = [Array.from({ length: b.length + 1 }, (_, column) => column)];
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const isSame = a[i - 1] === b[j - 1];
      const costs = [rows[i - 1]![j]! + 1, row[j - 1]! + 1, rows[i - 1]![j - 1]! + (isSame ? 0 : 1)];
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        costs.push(rows[i - 2]![j - 2]! + 1);
      row.push(Math.min(...costs));
    }
    rows.push(row);
  }
  return rows[a.length]![b.length]!;
}

/** Returns the most similar name, by comparison with all names. */
function findNearestByFullComparison(query: string, names: readonly string[]) {
  const candidates = names
    .map((name) => ({ name, distance: editDistance(name, query) }))
    .filter(({ name, distance }) => distance <= Math.min(2, name.length - 1));
  return candidates.toSorted((a, b) => a.distance - b.distance)[0];
}

describe('the most similar name', () => {
  it('is the closest one within two edits; of equally close names, the first', () => {
    expect(findNearest('agnet1', ['agent2', 'agent1', 'agent11'])).toEqual({ name: 'agent1', distance: 1 });
    expect(findNearest('agentx', ['agent1', 'agent2'])).toEqual({ name: 'agent1', distance: 1 });
    expect(findNearest('nosuch', ['start', 'agent'])).toBeUndefined();
    expect(findNearest('x', [])).toBeUndefined();
  });

  it('has at least one letter in common with the query', () => {
    expect(findNearest('b', ['a'])).toBeUndefined();
    expect(findNearest('xy', ['ab'])).toBeUndefined();
    expect(findNearest('ax', ['ab'])).toEqual({ name: 'ab', distance: 1 });
  });
});

describe('a search for similar names', () => {
  const letters = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 14 });

  it('finds the same name as a comparison with all names', () => {
    fc.assert(
      fc.property(fc.uniqueArray(letters, { maxLength: 30 }), letters, (names, query) => {
        expect(findNearest(query, names)).toEqual(findNearestByFullComparison(query, names));
      }),
      { numRuns: pickByScale(700, 20_000) },
    );
  });

  it('finds one of thousands of names with a common prefix, even in many searches', () => {
    const names = new SimilarNames(Array.from({ length: 5000 }, (_, index) => `enrichthecompany${index}`));
    for (let index = 0; index < 50; index++) {
      expect(names.findNearest(`enrichtheconpany${index * 100}`)).toEqual({
        name: `enrichthecompany${index * 100}`,
        distance: 1,
      });
    }
  });

  it('does not compare names of more than 100 characters', () => {
    expect(findNearest('x'.repeat(100), ['x'.repeat(99)])).toEqual({ name: 'x'.repeat(99), distance: 1 });
    expect(findNearest('x'.repeat(101), ['x'.repeat(100)])).toBeUndefined();
    expect(findNearest('x'.repeat(100), ['x'.repeat(101)])).toBeUndefined();
  });
});
