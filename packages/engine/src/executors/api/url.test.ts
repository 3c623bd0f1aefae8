import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isBlockError } from '@heddle/core/blocks';
import type { Json } from '@heddle/core/blocks';
import { contextOf, failureOf } from '../../../../../test/support/block.ts';
import type { BlockFixture } from '../../../../../test/support/block.ts';
import { pickByScale } from '../../../../../test/support/scale.ts';
import { asText } from '../values.ts';

/** Returns the URL that an api block reads with `v`, `w` and `x` of a block `a` before it. */
function readUrl(
  url: string,
  values: { [name: string]: Json },
  fixture: BlockFixture = {},
): Json | undefined {
  return contextOf({ type: 'api', params: { url }, outputs: { A: values }, ...fixture }).field('url');
}

describe('references in an authored URL', () => {
  it.each<[string, Json, string]>([
    ['https://h.test/items/<a.v>', 'a b', 'https://h.test/items/a%20b'],
    [
      'https://h.test/items/<a.v>/x',
      '../admin/delete?all=1#',
      'https://h.test/items/..%2Fadmin%2Fdelete%3Fall%3D1%23/x',
    ],
    ['https://h.test/<a.v>', 'a%2Fb', 'https://h.test/a%252Fb'],
    ['https://h.test/<a.v>', '..\\..\\x', 'https://h.test/..%5C..%5Cx'],
    ['https://h.test/<a.v>', '\uD800\n', 'https://h.test/%EF%BF%BD%0A'],
    ['https://h.test/<a.v>', { k: 1 }, 'https://h.test/%7B%22k%22%3A1%7D'],
    ['https://h.test/<a.v>/b', '', 'https://h.test//b'],
    ['https://h.test/...<a.v>', '.', 'https://h.test/....'],
    ['https://h.test/?q=<a.v>', 'x&admin=1', 'https://h.test/?q=x%26admin%3D1'],
    ['https://h.test/?<a.v>=1', 'a=b&c', 'https://h.test/?a%3Db%26c=1'],
    ['https://h.test/x#<a.v>', 'a#b', 'https://h.test/x#a%23b'],
    ['https://u:<a.v>@h.test/', 'p@evil.test/', 'https://u:p%40evil.test%2F@h.test/'],
    ['  "https://h.test/<a.v>" ', 'a', 'https://h.test/a'],
    ['https://h.test\n/<a.v>', 'a', 'https://h.test/a'],
  ])('are percent-encoded in %s for %j', (url, v, expected) => {
    expect(readUrl(url, { v })).toBe(expected);
  });

  it.each<[string, Json]>([
    ['https://h.test/<a.v>/x', '..'],
    ['https://h.test/<a.v>', '.'],
    ['https://h.test/.<a.v>/x', '.'],
    ['https://h.test/%2E<a.v>', '.'],
    ['https://h.test/x/<a.v><a.w>', '.'],
    ['https://h.test/{{DOT}}<a.v>?q', '.'],
  ])('fail the block when %s gets a dot segment from %j', async (url, v) => {
    const failure = await failureOf(() => readUrl(url, { v, w: '.' }, { env: { DOT: '.' } }));
    expect(failure).toMatchObject({ code: 'BLOCK_CONFIG_INVALID', retryable: false });
    expect(failure.message).toContain('<a.v> turns a segment of the path into "." or ".."');
  });

  it('do not change authored dot segments', () => {
    expect(readUrl('https://h.test/a/../<a.v>', { v: 'b' })).toBe('https://h.test/a/../b');
  });

  it.each<[string, string | number]>([
    ['https://<a.v>/x', 'h.test'],
    ['https://<a.v>/x', 'h.test:8080'],
    ['https://<a.v>/x', '[::1]'],
    ['https://[<a.v>]/x', '::1'],
    ['https://<a.v>:8080/x', '10.0.0.1'],
    ['https://<a.v>.h.test/x', 'eu'],
    ['https://api-<a.v>.h.test/x', 'eu-west.b'],
    ['https://api.<a.v>', 'h.test'],
    ['http://svc-<a.v>:80/x', 'blue'],
    ['https://h.test:<a.v>/x', 8080],
    ['<a.v>://h.test/x', 'http'],
  ])('can be a host or a port: %s with %j', (url, v) => {
    expect(readUrl(url, { v })).toBe(url.replace('<a.v>', String(v)));
  });

  it.each<[string, Json, string]>([
    ['https://<a.v>/x', 'h.test/y', 'is not a host name'],
    ['https://<a.v>/x', 'u@h.test', 'is not a host name'],
    ['https://<a.v>/x', '', 'is not a host name'],
    ['https://<a.v>:80/x', 'h.test:8080', 'is not a host name'],
    ['https://<a.v>.h.test/x', 'evil.test/?', 'part of a host name'],
    ['https://<a.v>.h.test/x', 'evil.test\\', 'part of a host name'],
    ['https://<a.v>.h.test/x', 'a%2eb', 'part of a host name'],
    ['https://h.test<a.v>', '/x', 'write a / before it'],
    ['https://h.test<a.v>', '.evil.test', 'write a / before it'],
    ['https:/<a.v>', '/evil.test', 'is not a host name'],
    ['https://svc-<a.v>/x', 'a.evil.test', 'without dots'],
    ['https://h.test:<a.v>/x', '80@evil.test', 'a port number'],
    ['https://h.test:<a.v>/x', '', 'a port number'],
    ['<a.v>://h.test/x', 'https://evil.test', 'the scheme'],
  ])('fail the block if they are not a valid host or port: %s with %j', async (url, v, message) => {
    const failure = await failureOf(() => readUrl(url, { v }));
    expect(failure).toMatchObject({ code: 'BLOCK_CONFIG_INVALID', retryable: false });
    expect(failure.message).toContain('<a.v>');
    expect(failure.message).toContain(message);
  });

  it.each<[string, string, string]>([
    ['<a.v>', ' https://h.test/a/../b?c=d&e#f ', 'https://h.test/a/../b?c=d&e#f'],
    ['"<a.v>"', 'https://h.test', 'https://h.test'],
    ['<a.v>/items/<a.w>?q=<a.w>', 'https://h.test/v1', 'https://h.test/v1/items/x%2Fy?q=x%2Fy'],
    ['<a.v>?q=<a.w>', 'https://h.test', 'https://h.test?q=x%2Fy'],
    ['<a.v>:8080/<a.w>', 'https://h.test', 'https://h.test:8080/x%2Fy'],
    ['<a.v><a.w>', 'https://h.test/a/', 'https://h.test/a/x%2Fy'],
  ])('stay unchanged as the whole URL or its beginning: %s', (url, v, expected) => {
    expect(readUrl(url, { v, w: 'x/y' })).toBe(expected);
  });

  it('must be a scheme and a host if authored text continues the host', async () => {
    expect((await failureOf(() => readUrl('<a.v>.h.test/x', { v: 'https://evil.test/' }))).message).toContain(
      'its value must be a scheme and a host',
    );
  });

  it('do not affect authored placeholders, and have placeholders in their values encoded', () => {
    const env = { BASE: 'https://h.test/v1?key=a b&', SEGMENTS: 'a/b' };
    expect(readUrl('{{BASE}}q=<a.v>', { v: '{{SEGMENTS}}' }, { env })).toBe(
      'https://h.test/v1?key=a b&q=%7B%7BSEGMENTS%7D%7D',
    );
    expect(readUrl('https://h.test/{{SEGMENTS}}/<a.v>', { v: 1 }, { env })).toBe('https://h.test/a/b/1');
  });

  it('are inserted unencoded in workflows deployed with compat', () => {
    expect(readUrl('https://h.test/<a.v>/x', { v: '../y?z' }, { compat: true })).toBe(
      'https://h.test/../y?z/x',
    );
  });
});

describe('arbitrary values in authored URLs', () => {
  const plainText = fc.string({
    unit: fc.constantFrom('a', 'b', 'Z', '0', '9', '-', '_', '~'),
    minLength: 1,
    maxLength: 4,
  });
  const reference = fc.constantFrom('<a.v>', '<a.w>', '<a.x>');
  const textOrReference = fc.oneof(plainText, reference);
  const authoredText = fc
    .array(textOrReference, { minLength: 1, maxLength: 3 })
    .map((parts) => parts.join(''));
  const origin = fc.constantFrom('https://h.test', 'http://h.test:8080', 'https://u:p@h.test');
  const value = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 12 }),
    fc.constantFrom(
      '..',
      '.',
      '%2e%2e',
      '/',
      '\\',
      '?',
      '#',
      '&',
      '=',
      '@',
      ':',
      '../..',
      '//evil.test',
      '\n',
      '\uDC00',
      '',
    ),
  );

  it('do not change the origin, the number of path segments or the query names', () => {
    fc.assert(
      fc.property(
        origin,
        fc.array(authoredText, { maxLength: 4 }),
        fc
          .uniqueArray(plainText, { maxLength: 3 })
          .chain((names) => fc.tuple(...names.map((name) => fc.tuple(fc.constant(name), authoredText)))),
        fc.record({ v: value, w: value, x: value }),
        (start, segments, query, values) => {
          const authoredUrl = `${start}/${segments.join('/')}${query.length === 0 ? '' : `?${query.map(([name, text]) => `${name}=${text}`).join('&')}`}`;
          const filledUrl = readIfValid(authoredUrl, values);
          fc.pre(filledUrl !== undefined);
          const url = new URL(filledUrl);
          expect(url.origin).toBe(new URL(start).origin);
          expect(url.username).toBe(new URL(start).username);
          expect(url.pathname.split('/')).toHaveLength(Math.max(segments.length, 1) + 1);
          expect([...url.searchParams.keys()]).toEqual(query.map(([name]) => name));
          expect(url.hash).toBe('');
        },
      ),
      { numRuns: pickByScale(400, 20_000) },
    );
  });

  /** Returns the URL; undefined if a value is not valid in its position. */
  function readIfValid(authoredUrl: string, values: { [name: string]: Json }): string | undefined {
    try {
      return asText(readUrl(authoredUrl, values));
    } catch (error) {
      if (isBlockError(error) && error.code === 'BLOCK_CONFIG_INVALID') return undefined;
      throw error;
    }
  }
});
