import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { followingStream } from './redaction-stream.ts';
import type { RedactionStream } from './redaction-stream.ts';
import { createRedactor, NO_SECRETS } from './redactor.ts';

const SECRET = 'sesame-open';
const HIDDEN = '«redacted:KEY»';
const redactor = createRedactor({ KEY: SECRET });

/** What is published of the parts, and at last. */
function published(stream: RedactionStream, parts: readonly string[]): string[] {
  return [...parts.map((part) => stream.push(part)), stream.end()];
}

/** Divides the text at the given positions, in any order. */
function divided(text: string, at: readonly number[]): string[] {
  const cuts = [0, ...at.map((position) => position % (text.length + 1)).sort((a, b) => a - b), text.length];
  return cuts.slice(1).map((cut, index) => text.slice(cuts[index], cut));
}

/** Few letters, so that secrets begin, end and overlap everywhere. */
const letters = fc.string({ unit: fc.constantFrom('a', 'b', ' ', '+', '"', 'ä', '😀'), maxLength: 9 });
const secrets = fc.dictionary(fc.constantFrom('A', 'B', 'C', 'D'), letters, { maxKeys: 4 });

describe('a stream of redacted text', () => {
  it('redacts a secret that comes in parts', () => {
    expect(published(redactor.stream(), ['say ses', 'ame', '-op', 'en now'])).toEqual([
      'say ',
      '',
      '',
      `${HIDDEN} now`,
      '',
    ]);
  });

  it('returns text at once unless it ends with the beginning of a secret', () => {
    const parts = ['Hello', ' world', ' as', ' fine', ' as sesame seed', 's', '!'];
    expect(published(redactor.stream(), parts)).toEqual([
      'Hello',
      ' world',
      ' a',
      's fine',
      ' as sesame seed',
      '',
      's!',
      '',
    ]);
  });

  it('returns a secret as soon as it is complete, and the beginning of one at the end', () => {
    expect(published(redactor.stream(), [SECRET, ' sesame'])).toEqual([HIDDEN, ' ', 'sesame']);
  });

  it('redacts the beginning of a secret at the end of a text that was interrupted', () => {
    for (const [text, safe] of [
      ['a ses', 'a ses'],
      ['a sesa', `a ${HIDDEN}`],
      ['a sesame-ope', `a ${HIDDEN}`],
      ['a sesame-opa', 'a sesame-opa'],
    ] as const) {
      const stream = redactor.stream();
      expect(stream.push(text) + stream.end({ isCut: true })).toBe(safe);
    }
  });

  it('gives the redaction of the whole text, whatever the secrets, the text and its parts are', () => {
    fc.assert(
      fc.property(
        secrets,
        fc.array(fc.oneof(letters, fc.nat(40)), { maxLength: 8 }),
        fc.array(fc.nat(), { maxLength: 20 }),
        (values, pieces, at) => {
          const made = createRedactor(values);
          const known = Object.values(values).flatMap((value) => [
            value,
            encodeURIComponent(value.toWellFormed()),
            JSON.stringify(value).slice(1, -1),
            Buffer.from(value).toString('base64'),
          ]);
          const text = pieces
            .map((piece) => (typeof piece === 'string' ? piece : (known[piece % (known.length || 1)] ?? '')))
            .join('');
          const whole = made.text(text);
          expect(published(made.stream(), divided(text, at)).join('')).toBe(whole);
          expect(published(made.stream(), text.split('')).join('')).toBe(whole);
        },
      ),
      { numRuns: 1000 },
    );
  });

  it('has published, at each time, only what every continuation of the text leaves unredacted', () => {
    fc.assert(
      fc.property(secrets, letters, fc.array(letters, { maxLength: 3 }), (values, before, continuations) => {
        const made = createRedactor(values);
        for (const after of [...Object.values(values), ...continuations])
          for (let cut = 0; cut <= after.length; cut++) {
            const start = made.stream().push(before + after.slice(0, cut));
            expect(made.text(before + after).startsWith(start)).toBe(true);
          }
      }),
      { numRuns: 300 },
    );
  });

  it('holds back no more than a form of a secret without the last character', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom('ses', 'ame', '-', 'open', 'x')), (parts) => {
        const stream = redactor.stream();
        for (const part of parts) {
          stream.push(part);
          expect(stream.held.length).toBeLessThan(SECRET.length);
          expect(SECRET.startsWith(stream.held) || stream.held.length < 4).toBe(true);
        }
      }),
    );
  });

  it('redacts overlapping secrets as a whole, though parts of them are complete before', () => {
    const both = createRedactor({ A: 'abcdef', B: 'defghi', C: 'cdef' });
    expect(published(both.stream(), ['xabcdef', 'gh', 'iy'])).toEqual(['x', '', '«redacted:A»y', '']);
    expect(published(both.stream(), ['xabcdef', 'gh', 'y'])).toEqual(['x', '', '«redacted:A»ghy', '']);
  });

  it('takes thousands of secrets with common beginnings', () => {
    const lines = Array.from({ length: 3000 }, (_, index) => `certificate line ${index}`);
    const made = createRedactor({ CA: lines.join('\n') });
    const text = 'certificate line certificate line 471x certificate line 2999.';
    expect(published(made.stream(), text.split('')).join('')).toBe(made.text(text));
  });

  it('creates states whose fallbacks are not created yet, however many there are', () => {
    const lines = Array.from({ length: 1200 }, (_, index) => `${'a'.repeat(index + 8)}b`);
    const made = createRedactor({ K: lines.join('\n') });
    const before = `${'a'.repeat(1500)}c`;
    const parts = [before, ...(lines.at(-1) ?? '').split('')];
    expect(published(made.stream(), parts).join('')).toBe(`${before}«redacted:K»`);
  });
});

describe('a stream that follows the redactor', () => {
  it('also redacts secrets that are added between two parts', () => {
    let current = NO_SECRETS;
    const stream = followingStream(() => current);
    expect(stream.push('say ')).toBe('say ');
    current = redactor;
    expect(stream.push('ses')).toBe('');
    current = createRedactor({ KEY: SECRET, OTHER: 'sesame-seed' });
    expect(stream.push('ame-')).toBe('');
    expect(stream.push('seed')).toBe('«redacted:OTHER»');
    expect(stream.push(`${SECRET} ses`)).toBe(`${HIDDEN} `);
    current = createRedactor({ KEY: SECRET, OTHER: 'sesame-seed', LAST: 'x-ray' });
    expect(stream.end()).toBe('ses');
  });
});
