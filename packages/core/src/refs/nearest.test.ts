import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { editDistance, NearNames, nearest } from './nearest.ts';

describe('edit distance', () => {
  it.each([
    ['', '', 0],
    ['abc', 'abc', 0],
    ['', 'abc', 3],
    ['strat', 'start', 1],
    ['startt', 'start', 1],
    ['stort', 'start', 1],
    ['kitten', 'sitting', 3],
    ['ca', 'abc', 3],
  ])('%j to %j is %i', (a, b, distance) => {
    expect(editDistance(a, b)).toBe(distance);
  });

  it('is symmetric, zero only for equals, and at most the longer length', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 12 }), fc.string({ maxLength: 12 }), (a, b) => {
        const distance = editDistance(a, b);
        return (
          distance === editDistance(b, a) &&
          (distance === 0) === (a === b) &&
          distance <= Math.max(a.length, b.length)
        );
      }),
    );
  });
});

describe('the nearest name', () => {
  it('is at most two edits away, the closest first, the first of equals', () => {
    expect(nearest('agnet1', ['agent2', 'agent1', 'agent11'])).toEqual({ name: 'agent1', distance: 1 });
    expect(nearest('agentx', ['agent1', 'agent2'])).toEqual({ name: 'agent1', distance: 1 });
    expect(nearest('nosuch', ['start', 'agent'])).toBeUndefined();
    expect(nearest('x', [])).toBeUndefined();
  });

  it('has something in common with what was written: one letter is near to no other letter', () => {
    expect(nearest('b', ['a'])).toBeUndefined();
    expect(nearest('xy', ['ab'])).toBeUndefined();
    expect(nearest('ax', ['ab'])).toEqual({ name: 'ab', distance: 1 });
  });
});

describe('names laid out for nearness', () => {
  const letters = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 14 });

  it('find what comparing with all of them finds', () => {
    fc.assert(
      fc.property(fc.uniqueArray(letters, { maxLength: 30 }), letters, (names, wanted) => {
        expect(new NearNames(names).nearest(wanted)).toEqual(nearest(wanted, names));
      }),
      { numRuns: 2000 },
    );
  });
});
