import fc from 'fast-check';
import type { Json, JsonObject } from '../../packages/core/src/json.ts';

/** A change at one position of a value. */
export interface Mutation {
  /** The position, counted in depth-first order. */
  position: number;
  kind: 'replace' | 'remove' | 'repeat' | 'rename';
  value: unknown;
  key: string;
}

const hostileKeys = ['__proto__', 'constructor', 'toString', '', 'id', 'undefined', 'blocks', '7'];
const hostileValues: unknown[] = [
  ...[null, [], {}, 1e308, -0, Number.NaN, undefined, '\u0000', '\ud800', '<', '<a.', '{{', '`${'],
  ...[true, -1, '', '7', '<start.input>', '{{KEY}}', '<loop.index>', [[]], { id: 'x' }, [null], 'loop'],
];

/** Changes that replace, remove, repeat or rename the value at a position. */
export const mutation: fc.Arbitrary<Mutation> = fc.record({
  position: fc.nat(5000),
  kind: fc.constantFrom('replace', 'replace', 'remove', 'repeat', 'rename'),
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
export function mutate(root: Json, { position, kind, value, key }: Mutation): void {
  const properties: [holder: JsonObject, key: string][] = [];
  const visit = (holder: Json): void => {
    if (typeof holder !== 'object' || holder === null) return;
    for (const childKey of Object.keys(holder)) {
      properties.push([holder as JsonObject, childKey]);
      visit((holder as JsonObject)[childKey] as Json);
    }
  };
  visit(root);
  const property = properties[position % Math.max(1, properties.length)];
  if (!property) return;
  const [holder, name] = property;
  const define = (propertyName: string, newValue: unknown): void => {
    Object.defineProperty(holder, propertyName, {
      value: newValue,
      enumerable: true,
      configurable: true,
      writable: true,
    });
  };
  // fast-check reuses the value in every run: without a copy, the next change could also change this value.
  if (kind === 'replace') define(name, structuredClone(value));
  else if (kind === 'remove') Reflect.deleteProperty(holder, name);
  else if (kind === 'repeat' && Array.isArray(holder)) holder.push(holder[Number(name)] as Json);
  else if (!Array.isArray(holder)) define(key, holder[name]);
}

/** An edit of a string: its position, the number of removed characters, and their replacement. */
export type TextEdit = [position: number, removedLength: number, replacement: string];

/** Lists of up to three edits. */
export const textEdits: fc.Arbitrary<TextEdit[]> = fc.array(
  fc.tuple(fc.nat(20_000), fc.nat(30), fc.string({ maxLength: 5 })),
  { maxLength: 3 },
);

/** Applies edits to a string. */
export function applyTextEdits(text: string, edits: readonly TextEdit[]): string {
  let result = text;
  for (const [position, removedLength, replacement] of edits) {
    const start = position % (result.length + 1);
    result = result.slice(0, start) + replacement + result.slice(start + removedLength);
  }
  return result;
}
