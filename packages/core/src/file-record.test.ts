import { describe, expect, it } from 'vitest';
import {
  sanitizeFileName,
  fileToRead,
  filesIn,
  isFileRecord,
  toMediaType,
  withContents,
} from './file-record.ts';
import type { Json } from './json.ts';

const KEY = `sha256:${'a'.repeat(64)}`;

function record(id: string, key = KEY) {
  return { id, name: `${id}.txt`, size: 3, type: 'text/plain', key };
}

describe('a file record', () => {
  it.each<[string, Json]>([
    ['no id', { ...record('a'), id: '' }],
    ['an invalid id', { ...record('a'), id: 'x'.repeat(257) }],
    ['a number for a name', { ...record('a'), name: 1 }],
    ['no type', { id: 'a', name: 'a', size: 1, key: KEY }],
    ['a key of another kind', { ...record('a'), key: '/etc/passwd' }],
    ['a negative size', { ...record('a'), size: -1 }],
    ['a fractional size', { ...record('a'), size: 0.5 }],
    ['a list around the record', [record('a')]],
  ])('is not a value with %s', (_case, value) => {
    expect(isFileRecord(value)).toBe(false);
  });

  it('is found at any depth, without repeated ids', () => {
    const value = { list: [record('a'), { deep: record('b') }], again: record('a'), other: 'text' };
    expect(filesIn(value).map(({ id }) => id)).toEqual(['a', 'b']);
  });
});

describe('contents', () => {
  it('are added to the records that have content; other values keep their identity', () => {
    const other = { list: [1, 2] };
    const value = { files: [record('a'), record('b', `sha256:${'b'.repeat(64)}`)], other };
    const requested: string[] = [];
    const contentOf = ({ id, key }: { id: string; key: string }): string | undefined => {
      requested.push(id);
      return key === KEY ? 'QUJD' : undefined;
    };
    const result = withContents(value, contentOf) as typeof value;
    expect(requested).toEqual(['a', 'b']);
    expect(result.files[0]).toEqual({ ...record('a'), base64: 'QUJD' });
    expect(result.files[1]).toBe(value.files[1]);
    expect(result.other).toBe(other);
    expect(value.files[0]).not.toHaveProperty('base64');
  });

  it('change nothing without files', () => {
    const value = { list: [{ a: 1 }] };
    expect(withContents(value, () => 'QUJD')).toBe(value);
  });

  it('are requested by a path that reads `base64` of a record without such a field', () => {
    const value = { files: [record('a'), { ...record('b'), base64: 'own' }] };
    const path = (index: number) => ['files', { index }, 'base64'];
    expect(fileToRead(value, path(0))).toMatchObject({ id: 'a' });
    expect(fileToRead(value, path(1))).toBeUndefined();
    expect(fileToRead(value, path(7))).toBeUndefined();
    expect(fileToRead(value, ['files', { index: 0 }, 'name'])).toBeUndefined();
    expect(fileToRead(undefined, path(0))).toBeUndefined();
  });
});

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
  ])('%j becomes %j', (input, expected) => {
    expect(sanitizeFileName(input)).toBe(expected);
  });

  it('has at most 255 characters, and no lone surrogate', () => {
    expect(sanitizeFileName('😀'.repeat(300))).toBe('😀'.repeat(127));
    expect(sanitizeFileName('x'.repeat(300))).toBe('x'.repeat(255));
  });
});

describe('a media type', () => {
  it.each(['text/plain', 'image/svg+xml', 'text/plain; charset=utf-8', 'text/plain;charset=utf-8'])(
    '%s is valid',
    (type) => {
      expect(toMediaType(type)).toBe(type);
    },
  );

  it.each([undefined, '', 'text', 'text/html\r\nX-Evil: 1', 'text/plain; a="b"', `text/${'x'.repeat(200)}`])(
    '%j is invalid and becomes application/octet-stream',
    (type) => {
      expect(toMediaType(type)).toBe('application/octet-stream');
    },
  );
});
