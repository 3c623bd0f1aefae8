import type { Json } from '@heddle/core/blocks';
import { encodingsOf, MIN_SECRET_CHARS, numberOf, secretPartsOf } from './encodings.ts';
import { FormAutomaton } from './form-automaton.ts';
import { FormStream, PASS_THROUGH } from './redaction-stream.ts';
import type { RedactionStream } from './redaction-stream.ts';

/** JSON keywords, which occur in most JSON documents. */
const KEYWORDS: ReadonlySet<string> = new Set(['true', 'false', 'null']);

/** Replaces secret values with `«redacted:NAME»`. */
export interface Redactor {
  redactText(text: string): string;
  /** Replaces secrets in all strings, numbers and keys. Returns the same object if it contains no secret. */
  redactJson(value: Json): Json;
  /**
   * Returns a stream that redacts a text that arrives in parts. The result is that of `redactText` for the whole text.
   */
  createStream(): RedactionStream;
}

/** A redactor without secrets. */
export const NO_SECRETS: Redactor = {
  redactText: (text) => text,
  redactJson: (value) => value,
  createStream: () => PASS_THROUGH,
};

/** Secret values by name. All values of a name are secret. */
export type SecretValues = { readonly [name: string]: string | readonly string[] };

interface TextRange {
  start: number;
  end: number;
  name: string;
}

/**
 * Returns a redactor for these values. Overlapping values are replaced together, by one replacement with the name of
 * the value that begins first.
 */
export function createRedactor(values: SecretValues): Redactor {
  const { nameByForm, nameByNumber } = indexForms(values);
  if (nameByForm.size === 0) return NO_SECRETS;
  const finder = new FormFinder(nameByForm);
  const redactText = (value: string): string => {
    const ranges = finder.rangesIn(value);
    return ranges.length === 0 ? value : replaceRanges(value, ranges);
  };
  const redactNumber = (value: number): Json => {
    const name = nameByNumber.get(value);
    return name === undefined ? value : createReplacement(name);
  };
  let automaton: FormAutomaton | undefined;
  return {
    redactText,
    redactJson: (value) => redactJson(value, { redactText, redactNumber }),
    createStream: () => new FormStream((automaton ??= new FormAutomaton(nameByForm)), createReplacement),
  };
}

/**
 * Returns the names of secrets by the forms of their values (the encodings in which a value can occur), and by the
 * numbers that the values represent. A form of several values belongs to the first name.
 */
function indexForms(values: SecretValues): {
  nameByForm: Map<string, string>;
  nameByNumber: Map<number, string>;
} {
  const nameByForm = new Map<string, string>();
  const nameByNumber = new Map<number, string>();
  const addForm = (form: string, name: string): void => {
    if (form.length >= MIN_SECRET_CHARS && !KEYWORDS.has(form) && !nameByForm.has(form))
      nameByForm.set(form, name);
  };
  for (const [key, value] of Object.entries(values)) {
    const name = key.replace(/[^\w.-]/g, '_');
    for (const part of [value].flat().flatMap((item) => [...secretPartsOf(item)])) {
      if (part.length < MIN_SECRET_CHARS || KEYWORDS.has(part)) continue;
      for (const form of encodingsOf(part)) addForm(form, name);
      const number = numberOf(part);
      if (number === undefined || String(Math.abs(number)).length < MIN_SECRET_CHARS) continue;
      addForm(String(number), name);
      for (const signedNumber of [number, -number])
        if (!nameByNumber.has(signedNumber)) nameByNumber.set(signedNumber, name);
    }
  }
  return { nameByForm, nameByNumber };
}

const PAIR_HASH_COUNT = 2 ** 16;

/**
 * Finds forms in texts with the Wu–Manber algorithm, which skips pairs of characters that occur in no form. The
 * time grows with the length of the text, and only little with the number of forms. A regular expression of thousands
 * of forms would be too large.
 */
class FormFinder {
  readonly #nameByForm: ReadonlyMap<string, string>;
  /** The length of the shortest form; at most 255, so that a distance fits into a byte of `#skips`. */
  readonly #minLength: number;
  /** The distance that the search may skip, by the pair at the end of its window. */
  readonly #skips: Uint8Array;
  /** Forms by their first `minLength` characters, the longest first. */
  readonly #formsByPrefix = new Map<string, string[]>();

  constructor(nameByForm: ReadonlyMap<string, string>) {
    const forms = [...nameByForm.keys()];
    this.#nameByForm = nameByForm;
    this.#minLength = forms.reduce((min, { length }) => Math.min(min, length), 255);
    this.#skips = new Uint8Array(PAIR_HASH_COUNT).fill(this.#minLength - 1);
    for (const form of forms.toSorted((a, b) => b.length - a.length)) this.#add(form);
  }

  #add(form: string): void {
    const prefix = form.slice(0, this.#minLength);
    const forms = this.#formsByPrefix.get(prefix);
    if (forms) forms.push(form);
    else this.#formsByPrefix.set(prefix, [form]);
    for (let index = 1; index < this.#minLength; index++) {
      const pairHash = pairHashAt(prefix, index);
      this.#skips[pairHash] = Math.min(this.#skips[pairHash] ?? 0, this.#minLength - 1 - index);
    }
  }

  /** Returns the ranges to replace, in order. A match that begins inside another one extends it. */
  rangesIn(text: string): TextRange[] {
    const ranges: TextRange[] = [];
    for (let lastIndex = this.#minLength - 1; lastIndex < text.length;) {
      const skip = this.#skips[pairHashAt(text, lastIndex)] ?? 0;
      lastIndex += skip || 1;
      if (skip > 0) continue;
      const start = lastIndex - this.#minLength;
      const form = this.#formAt(text, start);
      if (form === undefined) continue;
      const lastRange = ranges.at(-1);
      const end = start + form.length;
      if (lastRange !== undefined && start < lastRange.end) lastRange.end = Math.max(lastRange.end, end);
      else ranges.push({ start, end, name: this.#nameByForm.get(form) ?? '' });
    }
    return ranges;
  }

  #formAt(text: string, start: number): string | undefined {
    const forms = this.#formsByPrefix.get(text.slice(start, start + this.#minLength));
    return forms?.find((form) => text.startsWith(form, start));
  }
}

/** Returns a hash of the character at `index` and the one before it. */
function pairHashAt(text: string, index: number): number {
  return ((text.charCodeAt(index - 1) << 8) ^ text.charCodeAt(index)) & (PAIR_HASH_COUNT - 1);
}

function createReplacement(name: string): string {
  return `«redacted:${name}»`;
}

function replaceRanges(text: string, ranges: readonly TextRange[]): string {
  let result = '';
  let position = 0;
  for (const { start, end, name } of ranges) {
    result += text.slice(position, start) + createReplacement(name);
    position = end;
  }
  return result + text.slice(position);
}

interface ScalarRedactor {
  redactText(value: string): string;
  redactNumber(value: number): Json;
}

function redactJson(value: Json, scalarRedactor: ScalarRedactor): Json {
  if (typeof value === 'string') return scalarRedactor.redactText(value);
  if (typeof value === 'number') return scalarRedactor.redactNumber(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    const items = value.map((item) => redactJson(item, scalarRedactor));
    return items.some((item, index) => item !== value[index]) ? items : value;
  }
  const entries = Object.entries(value);
  const redactedEntries = new Map<string, Json>();
  const nextNumbers = new Map<string, number>();
  for (const [key, item] of entries)
    redactedEntries.set(
      uniqueKey(scalarRedactor.redactText(key), redactedEntries, nextNumbers),
      redactJson(item, scalarRedactor),
    );
  const isUnchanged = [...redactedEntries].every(
    ([key, item], index) => key === entries[index]?.[0] && item === entries[index][1],
  );
  return isUnchanged ? value : Object.fromEntries(redactedEntries);
}

/**
 * Returns the key, with a number if the key is taken: keys that differ only in a secret must not overwrite each other.
 *
 * `nextNumbers`: the number to try next for each key, so that many equal keys take linear time.
 */
function uniqueKey(
  key: string,
  existingEntries: ReadonlyMap<string, Json>,
  nextNumbers: Map<string, number>,
): string {
  if (!existingEntries.has(key)) return key;
  let number = nextNumbers.get(key) ?? 2;
  while (existingEntries.has(`${key} (${number})`)) number++;
  nextNumbers.set(key, number + 1);
  return `${key} (${number})`;
}
