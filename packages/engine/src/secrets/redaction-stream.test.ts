import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { pickByScale } from '../../../../test/support/scale.ts';
import { createDynamicRedactionStream } from './redaction-stream.ts';
import type { RedactionStream } from './redaction-stream.ts';
import { createRedactor, NO_SECRETS } from './redactor.ts';
import type { Redactor } from './redactor.ts';

const SECRET = 'sesame-open';
const REDACTED = '«redacted:KEY»';
const redactor = createRedactor({ KEY: SECRET });

/** Returns the text that is published after each part, and at the end. */
function publishParts(stream: RedactionStream, parts: readonly string[]): string[] {
  return [...parts.map((part) => stream.push(part)), stream.end()];
}

/** Splits the text at the positions, which may have any order and size. */
function splitAt(text: string, positions: readonly number[]): string[] {
  const cuts = [
    0,
    ...positions.map((position) => position % (text.length + 1)).sort((a, b) => a - b),
    text.length,
  ];
  return cuts.slice(1).map((cut, index) => text.slice(cuts[index], cut));
}

/** Few letters, so that secrets begin, end and overlap often. */
const letters = fc.string({ unit: fc.constantFrom('a', 'b', ' ', '+', '"', 'ä', '😀'), maxLength: 9 });
const secrets = fc.dictionary(fc.constantFrom('A', 'B', 'C', 'D'), letters, { maxKeys: 4 });

describe('a stream of redacted text', () => {
  it('redacts a secret that arrives in parts', () => {
    expect(publishParts(redactor.createStream(), ['say ses', 'ame', '-op', 'en now'])).toEqual([
      'say ',
      '',
      '',
      `${REDACTED} `,
      'now',
    ]);
  });

  it('returns whole words, and the beginning of a word that is too long for a secret', () => {
    const parts = ['Hello', ' world', '\nas sesame seed', 's', '!', ` ${'x'.repeat(100)}`, 'y'];
    expect(publishParts(redactor.createStream(), parts)).toEqual([
      '',
      'Hello ',
      'world\nas sesame ',
      '',
      '',
      `seeds! ${'x'.repeat(36)}`,
      'x',
      `${'x'.repeat(63)}y`,
    ]);
  });

  it('holds back a fixed number of characters if a secret contains white space', () => {
    const phraseRedactor = createRedactor({ PHRASE: 'correct horse battery' });
    const text = 'a correct hors'.repeat(10);
    const parts = [text.slice(0, 60), text.slice(60, 70), text.slice(70)];
    expect(publishParts(phraseRedactor.createStream(), parts)).toEqual([
      '',
      text.slice(0, 6),
      text.slice(6, -64),
      text.slice(-64),
    ]);
  });

  it('never splits a surrogate pair', () => {
    const parts = ['😀'.repeat(40), 'a', '😀'.repeat(40), 'b'];
    const publishedParts = publishParts(redactor.createStream(), parts);
    expect(publishedParts.join('')).toBe(parts.join(''));
    expect(publishedParts.every((part) => part.isWellFormed())).toBe(true);
  });

  it('discards the last word of an interrupted text, even if it does not begin like a secret', () => {
    for (const word of ['ses', 'sesame-ope', 'xyz', SECRET]) {
      const stream = redactor.createStream();
      expect(stream.push(`a ${word}`) + stream.end({ isInterrupted: true })).toBe('a ');
    }
  });

  it('returns each part at the same time for any secret, so that the timing reveals nothing about a secret', () => {
    const secretWithoutSpace = fc.string({
      unit: fc.constantFrom('a', 'b', '+', '"'),
      minLength: 4,
      maxLength: 9,
    });
    const secretWithSpace = secretWithoutSpace.map((text) => `${text} ${text}`);
    const secretPairs = fc.oneof(
      fc.tuple(secretWithoutSpace, secretWithoutSpace),
      fc.tuple(secretWithSpace, secretWithSpace),
    );
    fc.assert(
      fc.property(
        secretPairs,
        fc.array(fc.oneof(letters, fc.nat(20)), { maxLength: 40 }),
        (secretPair, pieces) => {
          const [firstRedactor, secondRedactor] = secretPair.map((secret) =>
            createRedactor({ KEY: secret }),
          ) as [Redactor, Redactor];
          // The text has many beginnings of the first secret.
          const parts = pieces.map((piece) =>
            typeof piece === 'string' ? piece : secretPair[0].slice(0, piece),
          );
          const text = parts.join('');
          fc.pre(
            [firstRedactor, secondRedactor].every(
              (secretRedactor) => secretRedactor.redactText(text) === text,
            ),
          );
          expect(publishParts(firstRedactor.createStream(), parts)).toEqual(
            publishParts(secondRedactor.createStream(), parts),
          );
          const [stream, otherStream] = [firstRedactor.createStream(), secondRedactor.createStream()];
          expect(parts.map((part) => stream.push(part))).toEqual(parts.map((part) => otherStream.push(part)));
          expect(stream.end({ isInterrupted: true })).toBe(otherStream.end({ isInterrupted: true }));
        },
      ),
      { numRuns: pickByScale(300, 5000) },
    );
  });

  it('returns the redaction of the whole text for any secrets, text and parts', () => {
    fc.assert(
      fc.property(
        secrets,
        fc.array(fc.oneof(letters, fc.nat(40)), { maxLength: 8 }),
        fc.array(fc.nat(), { maxLength: 20 }),
        (values, pieces, positions) => {
          const createdRedactor = createRedactor(values);
          const knownForms = Object.values(values).flatMap((value) => [
            value,
            encodeURIComponent(value.toWellFormed()),
            JSON.stringify(value).slice(1, -1),
            Buffer.from(value).toString('base64'),
          ]);
          const text = pieces
            .map((piece) =>
              typeof piece === 'string' ? piece : (knownForms[piece % (knownForms.length || 1)] ?? ''),
            )
            .join('');
          const redactedText = createdRedactor.redactText(text);
          expect(publishParts(createdRedactor.createStream(), splitAt(text, positions)).join('')).toBe(
            redactedText,
          );
          expect(publishParts(createdRedactor.createStream(), text.split('')).join('')).toBe(redactedText);
        },
      ),
      { numRuns: pickByScale(400, 5000) },
    );
  });

  it('never publishes text that a continuation could turn into a part of a secret', () => {
    fc.assert(
      fc.property(
        secrets,
        letters,
        fc.array(letters, { maxLength: 3 }),
        (values, beginning, continuations) => {
          const createdRedactor = createRedactor(values);
          const wrongStarts = [...Object.values(values), ...continuations].flatMap((continuation) => {
            const redactedText = createdRedactor.redactText(beginning + continuation);
            const starts = Array.from({ length: continuation.length + 1 }, (_, cut) =>
              createdRedactor.createStream().push(beginning + continuation.slice(0, cut)),
            );
            return starts.filter((start) => !redactedText.startsWith(start));
          });
          expect(wrongStarts).toEqual([]);
        },
      ),
      { numRuns: pickByScale(150, 3000) },
    );
  });

  it('holds back no more than its limit', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom('ses', 'ame', '-', 'open', 'x')), (parts) => {
        const stream = redactor.createStream();
        for (const part of parts) {
          stream.push(part);
          expect(stream.buffered.length).toBeLessThanOrEqual(64);
        }
      }),
    );
  });

  it('redacts overlapping secrets as a whole, even if one of them is complete earlier', () => {
    const overlapRedactor = createRedactor({ A: 'abcdef', B: 'defghi', C: 'cdef' });
    expect(publishParts(overlapRedactor.createStream(), ['xabcdef', 'gh', 'iy ']).join('')).toBe(
      'x«redacted:A»y ',
    );
    expect(publishParts(overlapRedactor.createStream(), ['xabcdef', 'gh', 'y ']).join('')).toBe(
      'x«redacted:A»ghy ',
    );
  });

  it('accepts thousands of secrets with common beginnings', () => {
    const lines = Array.from({ length: 3000 }, (_, index) => `certificate line ${index}`);
    const createdRedactor = createRedactor({ CA: lines.join('\n') });
    const text = 'certificate line certificate line 471x certificate line 2999.';
    expect(publishParts(createdRedactor.createStream(), text.split('')).join('')).toBe(
      createdRedactor.redactText(text),
    );
  });

  it('creates states with any number of missing fallbacks', () => {
    const lines = Array.from({ length: 1200 }, (_, index) => `${'a'.repeat(index + 8)}b`);
    const createdRedactor = createRedactor({ K: lines.join('\n') });
    const beginning = `${'a'.repeat(1500)}c`;
    const parts = [beginning, ...(lines.at(-1) ?? '').split('')];
    expect(publishParts(createdRedactor.createStream(), parts).join('')).toBe(`${beginning}«redacted:K»`);
  });
});

describe('a stream whose redactor changes', () => {
  it('also redacts secrets that are added between two parts', () => {
    let currentRedactor = NO_SECRETS;
    const stream = createDynamicRedactionStream(() => currentRedactor);
    expect(stream.push('say ')).toBe('say ');
    currentRedactor = redactor;
    expect(stream.push('ses')).toBe('');
    currentRedactor = createRedactor({ KEY: SECRET, OTHER: 'sesame-seed' });
    expect(stream.push('ame-')).toBe('');
    expect(stream.push('seed ')).toBe('«redacted:OTHER» ');
    expect(stream.push(`${SECRET} ses`)).toBe(`${REDACTED} `);
    currentRedactor = createRedactor({ KEY: SECRET, OTHER: 'sesame-seed', LAST: 'x-ray' });
    expect(stream.end()).toBe('ses');
  });
});
