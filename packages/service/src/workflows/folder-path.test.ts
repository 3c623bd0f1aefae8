import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  encodeName,
  FolderPathError,
  isInside,
  nameOfPath,
  parentPath,
  parseFolderPath,
  pathAndAncestors,
  relocatePath,
} from './folder-path.ts';

describe('paths of folders', () => {
  it.each([
    ['/', '/'],
    ['', '/'],
    ['/Team', '/Team'],
    ['Team/Sub', '/Team/Sub'],
    ['/My%20Team', '/My%20Team'],
    ['/a-b_c.d~e', '/a-b_c.d~e'],
    ['/50%25', '/50%25'],
    ['/a%2Fb', '/a%2Fb'],
    ['/%E2%9C%93', '/%E2%9C%93'],
    ['/...', '/...'],
  ])('are parsed: %j has the canonical form %j', (input, path) => {
    expect(parseFolderPath(input)).toBe(path);
  });

  it.each([
    ['//', 'empty segment'],
    ['/a/', 'a trailing slash'],
    ['/a//b', 'empty segment'],
    ['/.', 'cannot be named'],
    ['/a/..', 'cannot be named'],
    ['/%2E%2E', 'write ".."'],
    ['/a b', 'write "a%20b"'],
    ['/a%2fb', 'write "a%2Fb"'],
    ["/it's", 'write "it%27s"'],
    ['/%41', 'write "A"'],
    ['/%', 'not percent-encoded'],
    ['/%FF', 'not percent-encoded'],
    ['/%ED%A0%80', 'not percent-encoded'],
    ['/\ud800', 'not percent-encoded'],
    ['/%00', 'control characters'],
    ['/%20', 'only white space'],
    [`/${'a'.repeat(256)}`, 'at most 255'],
    [`/${'a'.repeat(4096)}`, 'more than 4096'],
    ['/a'.repeat(65), 'more than 64'],
  ])('are refused: %j (%s)', (input, message) => {
    expect(() => parseFolderPath(input)).toThrow(FolderPathError);
    expect(() => parseFolderPath(input)).toThrow(message);
  });

  it('are canonical for every encoded name, and decode to it', () => {
    const names = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 });
    fc.assert(
      fc.property(names, (name) => {
        fc.pre(!/^\.{1,2}$/.test(name) && name.trim() !== '' && !/\p{Cc}/u.test(name));
        const path = `/Outer/${encodeName(name)}`;
        expect(parseFolderPath(path)).toBe(path);
        expect(nameOfPath(path)).toBe(name);
        expect(parentPath(path)).toBe('/Outer');
      }),
    );
  });

  it('have parents, contain other paths, and change when a folder is moved', () => {
    expect(pathAndAncestors('/a/b/c')).toEqual(['/a', '/a/b', '/a/b/c']);
    expect(pathAndAncestors('/')).toEqual([]);
    expect(isInside('/a/b', '/a')).toBe(true);
    expect(isInside('/ab', '/a')).toBe(false);
    expect(isInside('/a', '/a')).toBe(false);
    expect(isInside('/a', '/')).toBe(true);
    expect(relocatePath('/a/b/c', '/a', '/x/y')).toBe('/x/y/b/c');
  });
});
