import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Json } from '@heddle/core/blocks';
import { createRedactor } from './redactor.ts';

const SECRET = 'p@ss"w/ör d+1';
const redactor = createRedactor({ KEY: SECRET });
const HIDDEN = '«redacted:KEY»';

describe('redaction', () => {
  it.each<[string, string]>([
    ['as it is', SECRET],
    ['in JSON text', JSON.stringify(SECRET).slice(1, -1)],
    ['in JSON text in JSON text', JSON.stringify(JSON.stringify(SECRET)).slice(3, -3)],
    ['in a URL', encodeURIComponent(SECRET)],
    ['in a URL, lower case', encodeURIComponent(SECRET).replace(/%../g, (hex) => hex.toLowerCase())],
    ['in a form', new URLSearchParams({ k: SECRET }).toString().slice(2)],
    ['in base64', Buffer.from(SECRET).toString('base64').replace(/=+$/, '')],
    ['in base64url', Buffer.from(SECRET).toString('base64url')],
  ])('takes the value out of a text %s', (_how, form) => {
    expect(redactor.text(`a ${form} b ${form}`)).toBe(`a ${HIDDEN} b ${HIDDEN}`);
  });

  it.each(['', 'u', 'us', 'user:'])(
    'takes out the base64 of a longer text that begins with "%s"',
    (before) => {
      for (const after of ['', ':x', 'xy', 'xyz']) {
        const text = Buffer.from(before + SECRET + after).toString('base64');
        const result = redactor.text(text);
        expect(result).toContain(HIDDEN);
        expect(result.replace(HIDDEN, '').length).toBeLessThan(text.length - Buffer.from(SECRET).length);
      }
    },
  );

  it('reaches every text in a value, keys too, and leaves the rest', () => {
    expect(redactor.json({ a: [SECRET, 5, null], [`k-${SECRET}`]: { b: true } })).toEqual({
      a: [HIDDEN, 5, null],
      [`k-${HIDDEN}`]: { b: true },
    });
  });

  it('gives the value itself when nothing is secret in it', () => {
    const value: Json = { a: [1, { b: 'harmless' }], c: 'text' };
    expect(redactor.json(value)).toBe(value);
  });

  it('keeps both values of keys that differ in nothing but the secret', () => {
    expect(redactor.json({ [SECRET]: 1, [encodeURIComponent(SECRET)]: 2 })).toEqual({
      [HIDDEN]: 1,
      [`${HIDDEN} (2)`]: 2,
    });
  });

  it('of values that contain each other takes the longer one', () => {
    const both = createRedactor({ SHORT: 'abcd', LONG: 'abcdefgh' });
    expect(both.text('abcdefgh abcd')).toBe('«redacted:LONG» «redacted:SHORT»');
  });

  it('leaves nothing of values that overlap', () => {
    const both = createRedactor({ A: 'abcdef', B: 'defghi' });
    expect(both.text('xabcdefghiy')).toBe('x«redacted:A»y');
    expect(both.text('abcdefabcdef')).toBe('«redacted:A»«redacted:A»');
  });

  it('leaves values alone that are too short, blank or words of JSON', () => {
    const text = 'a1b true false null    x';
    expect(createRedactor({ A: 'a1b', B: 'true', C: 'false', D: 'null', E: '    ', F: '' }).text(text)).toBe(
      text,
    );
    expect(createRedactor({ A: 'a1b2' }).text('a1b2')).toBe('«redacted:A»');
  });

  it('is nothing without secrets', () => {
    const value = { a: 'b' };
    expect(createRedactor({}).json(value)).toBe(value);
  });

  it('takes special characters of patterns as they are', () => {
    const value = String.raw`a.*+?^${'$'}{}()|[]\b/-c`;
    expect(createRedactor({ K: value }).text(`<${value}> axx+`)).toBe('<«redacted:K»> axx+');
  });

  it('names that would break JSON text are cleaned', () => {
    const text = JSON.stringify({ a: 'secret-value' });
    expect(JSON.parse(createRedactor({ 'a"b': 'secret-value' }).text(text))).toEqual({ a: '«redacted:a_b»' });
  });

  it('takes a value with half a surrogate pair', () => {
    expect(createRedactor({ K: 'abc\ud800def' }).text('abc\ud800def')).toBe('«redacted:K»');
  });

  it('no value of four or more characters is left in any text, as it is or as JSON', () => {
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
        (secrets, around) => {
          const values = Object.fromEntries(secrets.map((value, index) => [`K${index}`, value]));
          const text = around.map((piece, index) => piece + (secrets[index % secrets.length] ?? '')).join('');
          const made = createRedactor(values);
          const left = made.text(text).split(/«redacted:K\d»/);
          const leftInJson = made.text(JSON.stringify(text)).split(/«redacted:K\d»/);
          for (const value of secrets) {
            expect(left.some((piece) => piece.includes(value))).toBe(false);
            expect(leftInJson.some((piece) => piece.includes(JSON.stringify(value).slice(1, -1)))).toBe(
              false,
            );
          }
        },
      ),
    );
  });
});
