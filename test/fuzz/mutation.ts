import fc from 'fast-check';
import type { Json, JsonObject } from '../../packages/core/src/json.ts';

/** A change at one position of a value. */
export interface Mutation {
  /** The position, counted in depth-first order. */
  at: number;
  how: 'replace' | 'remove' | 'repeat' | 'rename';
  value: unknown;
  key: string;
}

const hostileKeys = ['__proto__', 'constructor', 'toString', '', 'id', 'undefined', 'blocks', '7'];
const hostileValues: unknown[] = [
  ...[null, [], {}, 1e308, -0, Number.NaN, undefined, '\u0000', '\ud800', '<', '<a.', '{{', '`${'],
  ...[true, -1, '', '7', '<start.input>', '{{KEY}}', '<loop.index>', [[]], { id: 'x' }, [null], 'loop'],
];

/** Any change: replaces, removes, repeats or renames the value at the position. */
export const mutation: fc.Arbitrary<Mutation> = fc.record({
  at: fc.nat(5000),
  how: fc.constantFrom('replace', 'replace', 'remove', 'repeat', 'rename'),
  value: fc.oneof(
    { weight: 5, arbitrary: fc.constantFrom(...hostileValues) },
    { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 3 }) },
    { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 12 }) },
  ),
  key: fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom(...hostileKeys) },
    { weight: 1, arbitrary: fc.string({ maxLength: 4 }) },
  ),
});

/** Changes the value at one position, in place. */
export function mutate(root: Json, { at, how, value, key }: Mutation): void {
  const places: [holder: JsonObject, key: string][] = [];
  const visit = (holder: Json): void => {
    if (typeof holder !== 'object' || holder === null) return;
    for (const each of Object.keys(holder)) {
      places.push([holder as JsonObject, each]);
      visit((holder as JsonObject)[each] as Json);
    }
  };
  visit(root);
  const place = places[at % Math.max(1, places.length)];
  if (!place) return;
  const [holder, name] = place;
  const define = (to: string, what: unknown): void => {
    Object.defineProperty(holder, to, { value: what, enumerable: true, configurable: true, writable: true });
  };
  // fast-check reuses the object in every run: without a copy the next change would also apply to it.
  if (how === 'replace') define(name, structuredClone(value));
  else if (how === 'remove') Reflect.deleteProperty(holder, name);
  else if (how === 'repeat' && Array.isArray(holder)) holder.push(holder[Number(name)] as Json);
  else if (!Array.isArray(holder)) define(key, holder[name]);
}

/** A cut in a text: its position, the number of removed characters, and their replacement. */
export type Cut = [at: number, length: number, insert: string];

/** Up to three cuts. */
export const cuts: fc.Arbitrary<Cut[]> = fc.array(
  fc.tuple(fc.nat(20_000), fc.nat(30), fc.string({ maxLength: 5 })),
  { maxLength: 3 },
);

/** Returns `text` with the cuts `made`. */
export function cut(text: string, made: readonly Cut[]): string {
  let after = text;
  for (const [at, length, insert] of made) {
    const from = at % (after.length + 1);
    after = after.slice(0, from) + insert + after.slice(from + length);
  }
  return after;
}
