import { describe, expect, it } from 'vitest';
import { measureCpuMs } from '../../../../../test/support/cpu.ts';
import { lineCountOf, occurrencesOf } from './occurrences.ts';

describe('occurrencesOf', () => {
  it.each([
    ['a', 'banana', [1, 3, 5]],
    ['ana', 'banana', [1]],
    ['aa', 'aaaaa', [0, 2]],
    ['abab', 'abacababab', [4]],
    ['\n\n', 'a\n\n\n\nb', [1, 3]],
    ['x', '', []],
    ['longer', 'long', []],
    ['é', 'café é', [3, 5]],
  ])('finds %j in %j at the positions %j', (substring, text, positions) => {
    expect(occurrencesOf(substring, text, 9)).toEqual(positions);
    expect(occurrencesOf(substring, text, 1)).toEqual(positions.slice(0, 1));
  });

  it('takes linear time in repetitive texts', () => {
    const half = 'a'.repeat(1_000_000);
    const cpuMs = measureCpuMs(() => {
      expect(occurrencesOf(`b${half}`, half + half, 9)).toEqual([]);
      expect(occurrencesOf(`${half}b`, `${half}${half}b`, 9)).toEqual([1_000_000]);
    });
    // A search that restarts at each position takes hours.
    expect(cpuMs).toBeLessThan(5000);
  });
});

it('lineCountOf counts the lines of a text, or of its beginning', () => {
  expect(lineCountOf('')).toBe(1);
  expect(lineCountOf('a\nb\n')).toBe(3);
  expect(lineCountOf('a\nb\nc', 3)).toBe(2);
});
