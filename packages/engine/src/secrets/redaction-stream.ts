import { MIN_SECRET_CHARS } from './encodings.ts';
import type { FormAutomaton, State } from './form-automaton.ts';

/** Redacts a text that comes in parts. The results joined are the redaction of the whole text, however it is divided. */
export interface RedactionStream {
  /** Adds a part. Returns the text that can be published: what follows cannot make it a part of a secret. */
  push(part: string): string;
  /**
   * Returns the rest. `isCut`: the text was interrupted, so that its last characters are redacted if they are the
   * beginning of a secret.
   */
  end(options?: { isCut: boolean }): string;
  /** What was added and not returned, not redacted. */
  readonly held: string;
}

/** A stream without secrets. */
export const PLAIN_STREAM: RedactionStream = { push: (part) => part, end: () => '', held: '' };

/** Returns a stream with the current redactor, also if that changes between two parts. */
export function followingStream(current: () => { stream(): RedactionStream }): RedactionStream {
  let redactor = current();
  let stream = redactor.stream();
  const push = (part: string): string => {
    const latest = current();
    if (latest === redactor) return stream.push(part);
    const { held } = stream;
    redactor = latest;
    stream = latest.stream();
    return stream.push(held + part);
  };
  return {
    push,
    end: (options) => push('') + stream.end(options),
    get held() {
      return stream.held;
    },
  };
}

/** A range of the text to replace. Positions count from the beginning of the text. */
interface HeldRange {
  start: number;
  end: number;
  name: string;
}

/** A stream that replaces the forms of an automaton. It holds back the beginning of a form, and what overlaps with it. */
export class FormStream implements RedactionStream {
  readonly #automaton: FormAutomaton;
  readonly #replacement: (name: string) => string;
  readonly #held = new TextQueue();
  /** Ranges in the text that is held, in order. They do not overlap. */
  readonly #ranges: HeldRange[] = [];
  #state: State;
  /** Characters so far. */
  #length = 0;

  constructor(automaton: FormAutomaton, replacement: (name: string) => string) {
    this.#automaton = automaton;
    this.#replacement = replacement;
    this.#state = automaton.root;
  }

  get held(): string {
    return this.#held.text();
  }

  push(part: string): string {
    this.#held.add(part);
    for (let at = 0; at < part.length; at++) {
      this.#state = this.#automaton.next(this.#state, part.charCodeAt(at));
      this.#length++;
      const { form } = this.#state;
      if (form !== undefined)
        this.#replace({
          start: this.#length - form.length,
          end: this.#length,
          name: this.#automaton.nameOf(form),
        });
    }
    return this.#publish(this.#length - (this.#state.open?.depth ?? 0));
  }

  end(options?: { isCut: boolean }): string {
    const { open } = this.#state;
    if (options?.isCut && open && open.depth >= MIN_SECRET_CHARS) {
      const name = this.#automaton.nameOf(this.#automaton.formFrom(open));
      this.#replace({ start: this.#length - open.depth, end: this.#length, name });
    }
    this.#state = this.#automaton.root;
    return this.#publish(this.#length);
  }

  /** Adds a range that ends where the text ends. Of ranges that overlap, the one that begins first gives the name. */
  #replace(range: HeldRange): void {
    for (let last = this.#ranges.at(-1); last && last.end > range.start; last = this.#ranges.at(-1)) {
      if (last.start < range.start) {
        last.end = range.end;
        return;
      }
      this.#ranges.pop();
    }
    this.#ranges.push(range);
  }

  /** Returns the text before `until`, and before a range that may grow. */
  #publish(until: number): string {
    const parts: string[] = [];
    let position = this.#length - this.#held.length;
    let done = 0;
    for (const { start, end, name } of this.#ranges) {
      if (end > until) {
        until = Math.min(until, start);
        break;
      }
      parts.push(this.#held.take(start - position), this.#replacement(name));
      this.#held.take(end - start);
      position = end;
      done++;
    }
    this.#ranges.splice(0, done);
    parts.push(this.#held.take(until - position));
    return parts.join('');
  }
}

/** Text that is added in parts and taken from its beginning, in time proportional to its length. */
class TextQueue {
  #parts: string[] = [];
  /** Parts that have been taken. */
  #taken = 0;
  /** Characters of the next part that have been taken. */
  #offset = 0;
  length = 0;

  add(text: string): void {
    if (text === '') return;
    this.#parts.push(text);
    this.length += text.length;
  }

  /** Removes the next characters and returns them. */
  take(chars: number): string {
    const taken: string[] = [];
    this.length -= chars;
    for (let missing = chars; missing > 0 && this.#taken < this.#parts.length;) {
      const part = this.#parts[this.#taken] ?? '';
      const piece = part.slice(this.#offset, this.#offset + missing);
      taken.push(piece);
      missing -= piece.length;
      this.#offset += piece.length;
      if (this.#offset < part.length) break;
      this.#taken++;
      this.#offset = 0;
    }
    if (this.#taken > this.#parts.length / 2) {
      this.#parts.splice(0, this.#taken);
      this.#taken = 0;
    }
    return taken.join('');
  }

  text(): string {
    return this.#parts.slice(this.#taken).join('').slice(this.#offset);
  }
}
