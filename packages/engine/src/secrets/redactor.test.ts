import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Json } from '@heddle/core/blocks';
import { createRedactor } from './redactor.ts';

const SECRET = 'p@ss"w/ör d+1';
const redactor = createRedactor({ KEY: SECRET });
const REDACTED = '«redacted:KEY»';

describe('redaction', () => {
  it.each<[string, string]>([
    ['in plain text', SECRET],
    ['in a JSON string', JSON.stringify(SECRET).slice(1, -1)],
    ['in a JSON string within another', JSON.stringify(JSON.stringify(SECRET)).slice(3, -3)],
    ['in a URL', encodeURIComponent(SECRET)],
    ['in a URL with lower-case hex', encodeURIComponent(SECRET).replace(/%../g, (hex) => hex.toLowerCase())],
    ['in a form-encoded body', new URLSearchParams({ k: SECRET }).toString().slice(2)],
    ['in base64', Buffer.from(SECRET).toString('base64').replace(/=+$/, '')],
    ['in base64url', Buffer.from(SECRET).toString('base64url')],
  ])('removes a value %s', (_where, form) => {
    expect(redactor.redactText(`a ${form} b ${form}`)).toBe(`a ${REDACTED} b ${REDACTED}`);
  });

  it.each(['', 'u', 'us', 'user:'])('removes the base64 of a longer text that begins with "%s"', (prefix) => {
    for (const suffix of ['', ':x', 'xy', 'xyz']) {
      const text = Buffer.from(prefix + SECRET + suffix).toString('base64');
      const result = redactor.redactText(text);
      expect(result).toContain(REDACTED);
      expect(result.replace(REDACTED, '').length).toBeLessThan(text.length - Buffer.from(SECRET).length);
    }
  });

  it('redacts every string in a value, including keys, and keeps the rest', () => {
    expect(redactor.redactJson({ a: [SECRET, 5, null], [`k-${SECRET}`]: { b: true } })).toEqual({
      a: [REDACTED, 5, null],
      [`k-${REDACTED}`]: { b: true },
    });
  });

  it('returns the same value if it contains no secret', () => {
    const value: Json = { a: [1, { b: 'harmless' }], c: 'text' };
    expect(redactor.redactJson(value)).toBe(value);
  });

  it('keeps both values of keys that differ only in the secret', () => {
    expect(redactor.redactJson({ [SECRET]: 1, [encodeURIComponent(SECRET)]: 2 })).toEqual({
      [REDACTED]: 1,
      [`${REDACTED} (2)`]: 2,
    });
  });

  it('numbers thousands of keys that redaction makes equal in linear time', () => {
    // Each key contains the secret 13 times, in one of two forms each time.
    const forms = [SECRET, encodeURIComponent(SECRET)];
    const keys = Array.from({ length: 2 ** 13 }, (_, number) =>
      Array.from({ length: 13 }, (_bit, bit) => forms[(number >> bit) & 1]).join('-'),
    );
    const redactedKey = Array.from({ length: 13 }, () => REDACTED).join('-');
    const result = redactor.redactJson(Object.fromEntries(keys.map((key, index) => [key, index])));
    expect(Object.keys(result as object)).toEqual(
      keys.map((_, index) => (index === 0 ? redactedKey : `${redactedKey} (${index + 1})`)),
    );
  });

  it('skips a number that another key already has', () => {
    const value = { [SECRET]: 1, [`${SECRET} (2)`]: 2, [encodeURIComponent(SECRET)]: 3 };
    expect(redactor.redactJson(value)).toEqual({
      [REDACTED]: 1,
      [`${REDACTED} (2)`]: 2,
      [`${REDACTED} (3)`]: 3,
    });
  });

  it('prefers the longer of two values if one contains the other', () => {
    const overlapRedactor = createRedactor({ SHORT: 'abcd', LONG: 'abcdefgh' });
    expect(overlapRedactor.redactText('abcdefgh abcd')).toBe('«redacted:LONG» «redacted:SHORT»');
  });

  it('removes a numeric value from JSON numbers, with either sign', () => {
    const numericRedactor = createRedactor({ PIN: '0012345678', BIG: '12345678901234567890', SHORT: '0012' });
    const pin = '«redacted:PIN»';
    expect(
      numericRedactor.redactJson([12345678, -12345678, Number('12345678901234567890'), 12, 0, 123456789]),
    ).toEqual([pin, pin, '«redacted:BIG»', 12, 0, 123456789]);
    expect(numericRedactor.redactText('{"pin":12345678,"big":12345678901234567000}')).toBe(
      `{"pin":${pin},"big":«redacted:BIG»}`,
    );
  });

  it('removes a value without its surrounding white space', () => {
    const paddedRedactor = createRedactor({ KEY: '  a padded value\n' });
    expect(paddedRedactor.redactText('[a padded value]')).toBe('[«redacted:KEY»]');
    expect(paddedRedactor.redactText(Buffer.from('a padded value').toString('base64'))).toContain(
      '«redacted:KEY»',
    );
  });

  it('removes single lines of a value, and the whole value with other line endings', () => {
    const lines = [
      '-----BEGIN PRIVATE KEY-----',
      'MIIEvQIBADANBgkq',
      '  hkiG9w0BAQEFAASC',
      'short',
      '-----END PRIVATE KEY-----',
    ];
    for (const lineEnding of ['\n', '\r\n', '\r']) {
      const keyRedactor = createRedactor({ PEM: lines.join(lineEnding) });
      expect(keyRedactor.redactText('the lines hkiG9w0BAQEFAASC and MIIEvQIBADANBgkq')).toBe(
        'the lines «redacted:PEM» and «redacted:PEM»',
      );
      expect(keyRedactor.redactText(`<${lines.join('\n')}>`)).toBe('<«redacted:PEM»>');
      expect(keyRedactor.redactText(`<${lines.join('\r\n')}>`)).toBe('<«redacted:PEM»>');
      expect(keyRedactor.redactText('-----BEGIN PRIVATE KEY----- short')).toBe(
        '-----BEGIN PRIVATE KEY----- short',
      );
    }
  });

  it('removes the strings in a value that is JSON', () => {
    const account = {
      type: 'account',
      key: 'line one of it\nline two of it',
      nested: [{ id: 'abcdef0123456789' }],
    };
    const jsonRedactor = createRedactor({ SA: JSON.stringify(account) });
    expect(
      jsonRedactor.redactJson({
        key: account.key,
        id: 'abcdef0123456789',
        line: 'line two of it',
        type: 'account',
      }),
    ).toEqual({
      key: '«redacted:SA»',
      id: '«redacted:SA»',
      line: '«redacted:SA»',
      type: 'account',
    });
  });

  it.each([
    ['a host', 'Tenant-Ab12.Example.COM', 'https://tenant-ab12.example.com/x'],
    ['a host with non-ASCII letters', 'schlüssel.example', new URL('https://schlüssel.example/x').href],
    ['a whole URL', 'https://Hooks.Example.com/T0/secret', 'https://hooks.example.com/T0/secret'],
    ['a path', 'a|b[c]^"d', new URL('https://h/a|b[c]^"d').href],
    ['a query', `it's"<1>`, new URL(`https://h/?q=it's"<1>`).href],
  ])('removes a value that appears in a URL as %s', (_where, value, url) => {
    const text = createRedactor({ KEY: value }).redactText(`requested ${url}`);
    expect(text).toContain('«redacted:KEY»');
    expect(text.length).toBeLessThan(`requested ${url}`.length + REDACTED.length - 5);
  });

  it('removes all values of a name, including earlier ones', () => {
    expect(createRedactor({ KEY: ['old-value', 'new-value'] }).redactText('old-value new-value')).toBe(
      `${REDACTED} ${REDACTED}`,
    );
  });

  it('accepts a value with very many lines', () => {
    const lines = Array.from({ length: 5000 }, (_, index) => `certificate line ${index}`);
    expect(createRedactor({ CA: lines.join('\n') }).redactText('x certificate line 4711 y')).toBe(
      'x «redacted:CA» y',
    );
  });

  it('removes overlapping values completely', () => {
    const overlapRedactor = createRedactor({ A: 'abcdef', B: 'defghi' });
    expect(overlapRedactor.redactText('xabcdefghiy')).toBe('x«redacted:A»y');
    expect(overlapRedactor.redactText('abcdefabcdef')).toBe('«redacted:A»«redacted:A»');
  });

  it('ignores values that are too short, blank or JSON keywords', () => {
    const text = 'a1b true false null    x';
    expect(
      createRedactor({ A: 'a1b', B: 'true', C: 'false', D: 'null', E: '    ', F: '' }).redactText(text),
    ).toBe(text);
    expect(createRedactor({ A: 'a1b2' }).redactText('a1b2')).toBe('«redacted:A»');
  });

  it('changes nothing without secrets', () => {
    const value = { a: 'b' };
    expect(createRedactor({}).redactJson(value)).toBe(value);
  });

  it('treats special characters of regular expressions literally', () => {
    const value = String.raw`a.*+?^${'$'}{}()|[]\b/-c`;
    expect(createRedactor({ K: value }).redactText(`<${value}> axx+`)).toBe('<«redacted:K»> axx+');
  });

  it('replaces characters in names that would break JSON text', () => {
    const text = JSON.stringify({ a: 'secret-value' });
    expect(JSON.parse(createRedactor({ 'a"b': 'secret-value' }).redactText(text))).toEqual({
      a: '«redacted:a_b»',
    });
  });

  it('accepts a value with a lone surrogate', () => {
    expect(createRedactor({ K: 'abc\ud800def' }).redactText('abc\ud800def')).toBe('«redacted:K»');
  });

  it('removes values of four or more characters from any text, raw or as JSON', () => {
    const secret = fc
      .string({ minLength: 4, maxLength: 12 })
      .filter(
        (text) =>
          text.trim().length >= 4 &&
          !['true', 'false', 'null'].includes(text.trim()) &&
          !'«redacted:K0123456789»'.includes(text),
      );
    fc.assert(
      fc.property(
        fc.array(secret, { minLength: 1, maxLength: 4 }),
        fc.array(fc.string(), { minLength: 1, maxLength: 4 }),
        (secrets, textPieces) => {
          const values = Object.fromEntries(secrets.map((value, index) => [`K${index}`, value]));
          const text = textPieces
            .map((piece, index) => piece + (secrets[index % secrets.length] ?? ''))
            .join('');
          const createdRedactor = createRedactor(values);
          const pieces = createdRedactor.redactText(text).split(/«redacted:K\d»/);
          const jsonPieces = createdRedactor.redactText(JSON.stringify(text)).split(/«redacted:K\d»/);
          for (const value of secrets) {
            expect(pieces.some((piece) => piece.includes(value))).toBe(false);
            expect(jsonPieces.some((piece) => piece.includes(JSON.stringify(value).slice(1, -1)))).toBe(
              false,
            );
          }
        },
      ),
    );
  });
});
