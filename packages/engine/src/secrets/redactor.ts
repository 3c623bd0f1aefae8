import type { Json } from '@heddle/core/blocks';
import { encodingsOf, numberOf, secretPartsOf } from './encodings.ts';

/**
 * Shorter values are left alone: they occur in ordinary data by chance, so that redacting them would destroy outputs
 * and hide nothing.
 */
export const MIN_SECRET_CHARS = 4;

/** Values that every JSON text is full of. */
const LITERALS: ReadonlySet<string> = new Set(['true', 'false', 'null']);

/** Puts `«redacted:NAME»` where a secret value stands. */
export interface Redactor {
  text(text: string): string;
  /** Every text and number in the value, keys too; the value itself when nothing is secret in it. */
  json(value: Json): Json;
}

/** The redactor of no values. */
export const NO_SECRETS: Redactor = { text: (text) => text, json: (value) => value };

/** Secret values by name; of several the name has had, all count. */
export type SecretValues = { readonly [name: string]: string | readonly string[] };

interface TextRange {
  start: number;
  end: number;
  name: string;
}

/** Returns a redactor of these values. Where values overlap the longest counts, and no part of another is left over. */
export function createRedactor(values: SecretValues): Redactor {
  const { names, numbers } = spellingsOf(values);
  if (names.size === 0) return NO_SECRETS;
  const finder = new Finder([...names.keys()]);
  const text = (given: string): string => {
    const spans = finder.spansIn(given, names);
    return spans.length === 0 ? given : replaced(given, spans);
  };
  const number = (given: number): Json => {
    const name = numbers.size === 0 ? undefined : numbers.get(given);
    return name === undefined ? given : placeholder(name);
  };
  return { text, json: (value) => redacted(value, { text, number }) };
}

/** Names by the spellings of their values, and by the numbers that these are; the first name keeps what two share. */
function spellingsOf(values: SecretValues): { names: Map<string, string>; numbers: Map<number, string> } {
  const names = new Map<string, string>();
  const numbers = new Map<number, string>();
  const add = (form: string, name: string): void => {
    if (form.length >= MIN_SECRET_CHARS && !LITERALS.has(form) && !names.has(form)) names.set(form, name);
  };
  for (const [given, value] of Object.entries(values)) {
    const name = given.replace(/[^\w.-]/g, '_');
    for (const part of [value].flat().flatMap((each) => [...secretPartsOf(each)])) {
      if (part.length < MIN_SECRET_CHARS || LITERALS.has(part)) continue;
      for (const form of encodingsOf(part)) add(form, name);
      const number = numberOf(part);
      if (number === undefined || String(Math.abs(number)).length < MIN_SECRET_CHARS) continue;
      add(String(number), name);
      for (const signed of [number, -number]) if (!numbers.has(signed)) numbers.set(signed, name);
    }
  }
  return { names, numbers };
}

const PAIRS = 2 ** 16;

/**
 * Finds forms in texts by the algorithm of Wu and Manber: pairs of characters that stand in no form are jumped over. The time
 * grows with the text, and little with the number of forms; one regular expression of thousands of forms is too large.
 */
class Finder {
  /** The length of the shortest form. */
  private readonly least: number;
  /** How far the search may jump when a pair stands at the end of its window. */
  private readonly jumps: Uint8Array;
  /** Forms by their first characters, the longest first. */
  private readonly byHead = new Map<string, string[]>();

  constructor(forms: readonly string[]) {
    this.least = forms.reduce((least, { length }) => Math.min(least, length), 255);
    this.jumps = new Uint8Array(PAIRS).fill(this.least - 1);
    for (const form of forms.toSorted((a, b) => b.length - a.length)) this.add(form);
  }

  private add(form: string): void {
    const head = form.slice(0, this.least);
    const same = this.byHead.get(head);
    if (same) same.push(form);
    else this.byHead.set(head, [form]);
    for (let at = 1; at < this.least; at++) {
      const pair = pairAt(head, at);
      this.jumps[pair] = Math.min(this.jumps[pair] ?? 0, this.least - 1 - at);
    }
  }

  /** The parts to take out, in order and apart: a match that begins inside another one belongs to it. */
  spansIn(text: string, names: ReadonlyMap<string, string>): TextRange[] {
    const spans: TextRange[] = [];
    for (let at = this.least - 1; at < text.length;) {
      const jump = this.jumps[pairAt(text, at)] ?? 0;
      at += jump || 1;
      if (jump > 0) continue;
      const start = at - this.least;
      const form = this.formAt(text, start);
      if (form === undefined) continue;
      const last = spans.at(-1);
      const end = start + form.length;
      if (last !== undefined && start < last.end) last.end = Math.max(last.end, end);
      else spans.push({ start, end, name: names.get(form) ?? '' });
    }
    return spans;
  }

  private formAt(text: string, start: number): string | undefined {
    const same = this.byHead.get(text.slice(start, start + this.least));
    return same?.find((form) => text.startsWith(form, start));
  }
}

/** A number for the character at `at` and the one before it. Different pairs may share one. */
function pairAt(text: string, at: number): number {
  return ((text.charCodeAt(at - 1) << 8) ^ text.charCodeAt(at)) & (PAIRS - 1);
}

function placeholder(name: string): string {
  return `«redacted:${name}»`;
}

function replaced(text: string, spans: readonly TextRange[]): string {
  let result = '';
  let at = 0;
  for (const { start, end, name } of spans) {
    result += text.slice(at, start) + placeholder(name);
    at = end;
  }
  return result + text.slice(at);
}

interface Scalars {
  text(given: string): string;
  number(given: number): Json;
}

function redacted(value: Json, scalars: Scalars): Json {
  if (typeof value === 'string') return scalars.text(value);
  if (typeof value === 'number') return scalars.number(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    const items = value.map((item) => redacted(item, scalars));
    return items.some((item, index) => item !== value[index]) ? items : value;
  }
  const entries = Object.entries(value);
  const changed = new Map<string, Json>();
  const counts = new Map<string, number>();
  for (const [key, item] of entries)
    changed.set(freeKey(scalars.text(key), changed, counts), redacted(item, scalars));
  const same = [...changed].every(
    ([key, item], index) => key === entries[index]?.[0] && item === entries[index][1],
  );
  return same ? value : Object.fromEntries(changed);
}

/**
 * Two keys may differ in nothing but the secret: neither loses its value.
 *
 * `counts` has the next number to try for each key, so that equal keys do not count up from 2 again.
 */
function freeKey(key: string, taken: ReadonlyMap<string, Json>, counts: Map<string, number>): string {
  if (!taken.has(key)) return key;
  let count = counts.get(key) ?? 2;
  while (taken.has(`${key} (${count})`)) count++;
  counts.set(key, count + 1);
  return `${key} (${count})`;
}
