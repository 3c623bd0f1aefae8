import { describe, expect, it } from 'vitest';
import { truncate, pad, tableLines } from './table.ts';

describe('a table', () => {
  it('aligns columns by terminal width, without trailing spaces', () => {
    expect(
      tableLines([
        ['name', 'x'],
        ['日本', 'y'],
        ['a', ''],
      ]),
    ).toEqual(['name  x', '日本  y', 'a']);
  });

  it('does not count colours as columns', () => {
    expect(
      tableLines([
        ['\u001B[31mab\u001B[39m', 'x'],
        ['abc', 'y'],
      ]),
    ).toEqual(['\u001B[31mab\u001B[39m   x', 'abc  y']);
  });
});

describe('truncate', () => {
  it('cuts wide text by terminal width', () => {
    expect(truncate('abcdef', 6)).toBe('abcdef');
    expect(truncate('abcdefg', 6)).toBe('abcde…');
    expect(truncate('日本日本', 6)).toBe('日本…');
  });
});

describe('pad', () => {
  it('pads on either side', () => {
    expect(pad('ab', 4)).toBe('ab  ');
    expect(pad('ab', 4, 'left')).toBe('  ab');
    expect(pad('abcdef', 4)).toBe('abcdef');
  });
});
