import { diagnostic } from '../plan/diagnostics.ts';
import type { DiagnosticCode, DiagnosticSink } from '../plan/diagnostics.ts';
import type { Json, JsonObject } from '../json.ts';

/** Maximum size of a workflow. Characters are UTF-16 units. Every scalar, array and object is a value. */
export const PARSE_LIMITS = {
  textChars: 64 * 1024 * 1024,
  stringChars: 8 * 1024 * 1024,
  values: 2_000_000,
  depth: 100,
  blocks: 20_000,
  edges: 100_000,
  nameChars: 1000,
} as const;

/** The progress of one copy. */
interface Walk {
  sink: DiagnosticSink;
  valueCount: number;
  path: (string | number)[];
}

/**
 * Returns a copy of `input` that is plain JSON: own properties only, no `__proto__`, within the limits on strings,
 * values and depth.
 *
 * Anything else is omitted and reported to `sink`. Never throws.
 */
export function validateInput(input: unknown, sink: DiagnosticSink): Json | undefined {
  return copy({ sink, valueCount: 0, path: [] }, input);
}

function copy(walk: Walk, value: unknown): Json | undefined {
  if (++walk.valueCount > PARSE_LIMITS.values) {
    if (walk.valueCount === PARSE_LIMITS.values + 1)
      reportTooLarge(walk, `more than ${PARSE_LIMITS.values} values`);
    return undefined;
  }
  if (typeof value === 'string') return copyString(walk, value);
  if (typeof value === 'number') return copyNumber(walk, value);
  if (value === null || typeof value === 'boolean' || value === undefined) return value;
  if (typeof value !== 'object') {
    report(walk, 'INPUT_SHAPE', `A value of type ${typeof value} is not JSON.`, 'Pass plain JSON.');
    return undefined;
  }
  if (walk.path.length >= PARSE_LIMITS.depth) {
    report(
      walk,
      'INPUT_TOO_DEEP',
      `Values are nested more than ${PARSE_LIMITS.depth} deep.`,
      'Flatten this value.',
    );
    return undefined;
  }
  return Array.isArray(value) ? copyArray(walk, value) : copyObject(walk, value);
}

function copyString(walk: Walk, value: string): string | undefined {
  if (value.length <= PARSE_LIMITS.stringChars) return value;
  reportTooLarge(walk, `a string of ${value.length} characters (at most ${PARSE_LIMITS.stringChars})`);
  return undefined;
}

function copyNumber(walk: Walk, value: number): number | null {
  if (Number.isFinite(value)) return Object.is(value, -0) ? 0 : value;
  report(walk, 'INPUT_SHAPE', `${value} is not JSON.`, 'Use a finite number or null.');
  return null;
}

function copyArray(walk: Walk, value: readonly unknown[]): Json[] {
  const list: Json[] = [];
  for (let index = 0; index < value.length && walk.valueCount <= PARSE_LIMITS.values; index++) {
    walk.path.push(index);
    list.push(copy(walk, value[index]) ?? null);
    walk.path.pop();
  }
  return list;
}

function copyObject(walk: Walk, value: object): JsonObject {
  const object: JsonObject = {};
  for (const key of Object.keys(value)) {
    // The path is part of each diagnostic below it, so a long key would be copied into all of them.
    walk.path.push(key.length > PARSE_LIMITS.nameChars ? `${key.slice(0, PARSE_LIMITS.nameChars)}…` : key);
    if (key === '__proto__') {
      report(walk, 'KEY_FORBIDDEN', 'The key "__proto__" is not allowed.', 'Remove or rename it.');
    } else {
      const item = copy(walk, (value as { [key: string]: unknown })[key]);
      if (item !== undefined) object[key] = item;
    }
    walk.path.pop();
    if (walk.valueCount > PARSE_LIMITS.values) break;
  }
  return object;
}

function reportTooLarge(walk: Walk, excess: string): void {
  report(walk, 'INPUT_TOO_LARGE', `The workflow has ${excess}.`, 'Split it, or move the data out of it.');
}

function report(walk: Walk, code: DiagnosticCode, message: string, hint: string): void {
  walk.sink.push(diagnostic(code, { path: [...walk.path], message, hint }));
}
