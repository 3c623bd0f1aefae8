import { describe, expect, it } from 'vitest';
import { parseFolderPath, parseFileName } from './folders.ts';

describe('the path of a folder', () => {
  it.each([
    ['/', '/'],
    ['/Reports', '/Reports'],
    [' /Reports/Q3%20Results/ ', '/Reports/Q3%20Results'],
    ['/R%C3%A9sum%C3%A9s/a.b', '/R%C3%A9sum%C3%A9s/a.b'],
  ])('for the argument %j is %j', (value, path) => {
    expect(parseFolderPath({ folder: value }, 'folder')).toBe(path);
  });

  it('is absent without a value', () => {
    expect(parseFolderPath({}, 'folder')).toBeUndefined();
  });

  it.each([
    'Reports',
    '//',
    '/a//b',
    '/a/..',
    '/a/%2e%2E/b',
    '/./a',
    '/a%2Fb',
    '/a%5Cb',
    '/a\\b',
    '/a%00',
    '/a%0Ab',
    '/a%',
    '/%20',
    `/${'a'.repeat(4096)}`,
    7,
    ['/a'],
  ])('cannot be %j', (value) => {
    expect(() => parseFolderPath({ folder: value }, 'folder')).toThrow(/has an invalid folder/);
  });
});

describe('the name of a file', () => {
  it.each(['a.txt', ' notes ', 'Größe (1).csv', '.env'])('can be %j', (value) => {
    expect(parseFileName(value)).toBe(value.trim());
  });

  it.each(['', ' ', '.', '..', 'a/b', 'a\\b', '../a', 'a\nb', 'a\u202Eb', 'x'.repeat(256), 7, undefined])(
    'cannot be %j',
    (value) => {
      expect(() => parseFileName(value)).toThrow(/a name has 1 to 255 characters/);
    },
  );
});
