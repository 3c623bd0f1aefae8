import { describe, expect, it } from 'vitest';
import { formatClockTime, formatDuration, formatLocalTime, formatCount, shellQuote } from './format.ts';

describe('a duration', () => {
  it.each([
    [0, '0 ms'],
    [999, '999 ms'],
    [1000, '1.0 s'],
    [59_949, '59.9 s'],
    [59_960, '1 min'],
    [65_400, '1 min 5 s'],
    [3_599_600, '1 h'],
    [7_500_000, '2 h 5 min'],
    [86_400_000, '1 d'],
    [273_600_000, '3 d 4 h'],
  ])('of %d ms reads %s', (ms, text) => {
    expect(formatDuration(ms)).toBe(text);
  });
});

describe('formatCount', () => {
  it.each([
    [1, 'block', '1 block'],
    [2, 'block', '2 blocks'],
    [3, 'branch', '3 branches'],
    [0, 'iteration', '0 iterations'],
    [2, 'entry', '2 entries'],
  ])('formats %d %s as "%s"', (count, noun, text) => {
    expect(formatCount(count, noun)).toBe(text);
  });
});

describe('shellQuote', () => {
  it.each([
    ['plain-1.json', 'plain-1.json'],
    ['Read Order', "'Read Order'"],
    ["it's", String.raw`'it'\''s'`],
    ['$(rm)', "'$(rm)'"],
    ['', "''"],
  ])('writes %j as %s', (text, quoted) => {
    expect(shellQuote(text)).toBe(quoted);
  });
});

describe('a time', () => {
  const noon = new Date(2026, 2, 9, 12, 5, 7).getTime();

  it('has date and time', () => {
    expect(formatLocalTime(noon)).toBe('2026-03-09 12:05:07');
  });

  it('has no date if it is today', () => {
    expect(formatClockTime(noon, noon + 3_600_000)).toBe('12:05:07');
    expect(formatClockTime(noon, noon + 86_400_000)).toBe('2026-03-09 12:05:07');
  });
});
