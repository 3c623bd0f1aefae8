import type { FormAutomaton, AutomatonState } from './form-automaton.ts';

/**
 * Redacts a text that arrives in parts. The joined results equal the redaction of the whole text for every division
 * into parts.
 */
export interface RedactionStream {
  /** Adds a part. Returns the text that can be published, because no later part can make it a part of a secret. */
  push(part: string): string;
  /**
   * Returns the remaining text. `isInterrupted`: the text was interrupted, so the held characters may be the beginning
   * of a secret, and all of them are discarded.
   */
  end(options?: { isInterrupted: boolean }): string;
  /** The text that was added and not returned yet, without redaction. */
  readonly buffered: string;
}

/** A stream without secrets. */
export const PASS_THROUGH: RedactionStream = { push: (part) => part, end: () => '', buffered: '' };

/** Returns a stream that always uses the current redactor, which may change between two parts. */
export function createDynamicRedactionStream(
  getRedactor: () => { createStream(): RedactionStream },
): RedactionStream {
  let redactor = getRedactor();
  let stream = redactor.createStream();
  const push = (part: string): string => {
    const latestRedactor = getRedactor();
    if (latestRedactor === redactor) return stream.push(part);
    const { buffered } = stream;
    redactor = latestRedactor;
    stream = latestRedactor.createStream();
    return stream.push(buffered + part);
  };
  return {
    push,
    end: (options) => push('') + stream.end(options),
    get buffered() {
      return stream.buffered;
    },
  };
}

/** A range of the text to replace. Positions count from the beginning of the text. */
interface HeldRange {
  start: number;
  end: number;
  name: string;
}

/** Minimum of the limit on held-back characters, so that the length of a short secret has no effect. */
const MIN_LIMIT = 64;
/** Maximum of this limit if secrets contain white space. */
const LIMIT_WITH_SPACE = 256;

/**
 * A stream that replaces the forms of an automaton. What it holds back does not depend on whether the text is the
 * beginning of a secret: otherwise a caller who can make a block repeat chosen texts could guess a secret character by
 * character, from the times at which the texts arrive. The stream holds back the last word, up to a limit. If a form
 * contains white space, the stream holds back a fixed number of characters, and more if they are part of the beginning
 * of a form.
 */
export class FormStream implements RedactionStream {
  readonly #automaton: FormAutomaton;
  readonly #createReplacement: (name: string) => string;
  readonly #heldText = new TextQueue();
  /** Ranges in the text that is held, in order. They do not overlap. */
  readonly #ranges: HeldRange[] = [];
  /**
   * Maximum number of characters that are held back. A power of two, so that the limit reveals little about the
   * length of the longest form.
   */
  readonly #limit: number;
  #state: AutomatonState;
  /** Number of characters so far. */
  #length = 0;
  /** The position at which the last word begins; 0 if forms contain white space. */
  #wordStart = 0;
  /** A high surrogate that was taken from the held text and not returned yet. */
  #highSurrogate = '';

  constructor(automaton: FormAutomaton, createReplacement: (name: string) => string) {
    this.#automaton = automaton;
    this.#createReplacement = createReplacement;
    this.#state = automaton.root;
    const limit = 2 ** Math.ceil(Math.log2(Math.max(automaton.maxFormLength, MIN_LIMIT)));
    this.#limit = automaton.hasSpace ? Math.min(limit, LIMIT_WITH_SPACE) : limit;
  }

  get buffered(): string {
    return this.#highSurrogate + this.#heldText.text();
  }

  push(part: string): string {
    this.#heldText.add(part);
    for (let index = 0; index < part.length; index++) {
      const code = part.charCodeAt(index);
      this.#state = this.#automaton.next(this.#state, code);
      this.#length++;
      if (!this.#automaton.hasSpace && isSpace(code)) this.#wordStart = this.#length;
      const { form } = this.#state;
      if (form !== undefined)
        this.#addRange({
          start: this.#length - form.length,
          end: this.#length,
          name: this.#automaton.nameOf(form),
        });
    }
    const heldLength = Math.min(this.#length - this.#wordStart, this.#limit);
    const publishedText =
      this.#highSurrogate +
      this.#publish(this.#length - Math.max(heldLength, this.#state.incompleteForm?.depth ?? 0));
    this.#highSurrogate = /[\uD800-\uDBFF]$/.test(publishedText) ? publishedText.slice(-1) : '';
    return this.#highSurrogate === '' ? publishedText : publishedText.slice(0, -1);
  }

  end(options?: { isInterrupted: boolean }): string {
    this.#state = this.#automaton.root;
    if (options?.isInterrupted) return '';
    const remainingText = this.#highSurrogate + this.#publish(this.#length);
    this.#highSurrogate = '';
    return remainingText;
  }

  /** Adds a range that ends where the text ends. Overlapping ranges get the name of the range that begins first. */
  #addRange(range: HeldRange): void {
    for (
      let lastRange = this.#ranges.at(-1);
      lastRange && lastRange.end > range.start;
      lastRange = this.#ranges.at(-1)
    ) {
      if (lastRange.start < range.start) {
        lastRange.end = range.end;
        return;
      }
      this.#ranges.pop();
    }
    this.#ranges.push(range);
  }

  /** Returns the text before `endPosition`, and before a range that may grow. */
  #publish(endPosition: number): string {
    const parts: string[] = [];
    let position = this.#length - this.#heldText.length;
    let count = 0;
    for (const { start, end, name } of this.#ranges) {
      if (end > endPosition) {
        endPosition = Math.min(endPosition, start);
        break;
      }
      parts.push(this.#heldText.take(start - position), this.#createReplacement(name));
      this.#heldText.take(end - start);
      position = end;
      count++;
    }
    this.#ranges.splice(0, count);
    parts.push(this.#heldText.take(endPosition - position));
    return parts.join('');
  }
}

/** True for white space. Only characters from 0xa0 need the regular expression. */
function isSpace(code: number): boolean {
  if (code <= 0x20) return code === 0x20 || (code >= 0x09 && code <= 0x0d);
  return code >= 0xa0 && /\s/.test(String.fromCharCode(code));
}

/** Text that is added in parts and taken from its beginning, in time proportional to its length. */
class TextQueue {
  #parts: string[] = [];
  /** Number of parts that have been taken. */
  #takenCount = 0;
  /** Number of characters of the next part that have been taken. */
  #offset = 0;
  length = 0;

  add(text: string): void {
    if (text === '') return;
    this.#parts.push(text);
    this.length += text.length;
  }

  /** Removes the next characters and returns them. */
  take(charCount: number): string {
    const pieces: string[] = [];
    this.length -= charCount;
    for (let remaining = charCount; remaining > 0 && this.#takenCount < this.#parts.length;) {
      const part = this.#parts[this.#takenCount] ?? '';
      const piece = part.slice(this.#offset, this.#offset + remaining);
      pieces.push(piece);
      remaining -= piece.length;
      this.#offset += piece.length;
      if (this.#offset < part.length) break;
      this.#takenCount++;
      this.#offset = 0;
    }
    if (this.#takenCount > this.#parts.length / 2) {
      this.#parts.splice(0, this.#takenCount);
      this.#takenCount = 0;
    }
    return pieces.join('');
  }

  text(): string {
    return this.#parts.slice(this.#takenCount).join('').slice(this.#offset);
  }
}
