import { describe, expect, it } from 'vitest';
import { fileName, mediaType } from './file-record.ts';

describe('the name of a file', () => {
  it.each([
    ['report.pdf', 'report.pdf'],
    ['Übersicht 日本.txt', 'Übersicht 日本.txt'],
    ['../../etc/passwd', 'passwd'],
    ['C:\\Users\\ada\\plan.doc', 'plan.doc'],
    ['folder/', 'folder'],
    ['a"b.txt', 'a"b.txt'],
    ['a\r\nX-Evil: 1.txt', 'a__X-Evil: 1.txt'],
    ['gpj.\u202Eexe', 'gpj._exe'],
    ['half \uD800.txt', 'half _.txt'],
    ['', 'file'],
    ['..', 'file'],
    [' / ', 'file'],
  ])('%j is kept as %j', (given, kept) => {
    expect(fileName(given)).toBe(kept);
  });

  it('has at most 255 characters, and no half of a surrogate pair', () => {
    expect(fileName('😀'.repeat(300))).toBe('😀'.repeat(127));
    expect(fileName('x'.repeat(300))).toBe('x'.repeat(255));
  });
});

describe('a media type', () => {
  it.each(['text/plain', 'image/svg+xml', 'text/plain; charset=utf-8', 'text/plain;charset=utf-8'])(
    '%s is one',
    (type) => {
      expect(mediaType(type)).toBe(type);
    },
  );

  it.each([undefined, '', 'text', 'text/html\r\nX-Evil: 1', 'text/plain; a="b"', `text/${'x'.repeat(200)}`])(
    '%j is not: the type is that of unknown bytes',
    (type) => {
      expect(mediaType(type)).toBe('application/octet-stream');
    },
  );
});
