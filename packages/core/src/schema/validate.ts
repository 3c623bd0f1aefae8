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
interface CopyProgress {
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

function copy(progress: CopyProgress, value: unknown): Json | undefined {
  if (++progress.valueCount > PARSE_LIMITS.values) {
    if (progress.valueCount === PARSE_LIMITS.values + 1)
      reportTooLarge(progress, `more than ${PARSE_LIMITS.values} values`);
    return undefined;
  }
  if (typeof value === 'string') return copyString(progress, value);
  if (typeof value === 'number') return copyNumber(progress, value);
  if (value === null || typeof value === 'boolean' || value === undefined) return value;
  if (typeof value !== 'object') {
    report(progress, 'INPUT_SHAPE', `A value of type ${typeof value} is not JSON.`, 'Pass plain JSON.');
    return undefined;
  }
  if (progress.path.length >= PARSE_LIMITS.depth) {
    report(
      progress,
      'INPUT_TOO_DEEP',
      `Values are nested more than ${PARSE_LIMITS.depth} deep.`,
      'Flatten this value.',
    );
    return undefined;
  }
  return Array.isArray(value) ? copyArray(progress, value) : copyObject(progress, value);
}

function copyString(progress: CopyProgress, value: string): string | undefined {
  if (value.length <= PARSE_LIMITS.stringChars) return value;
  reportTooLarge(progress, `a string of ${value.length} characters (at most ${PARSE_LIMITS.stringChars})`);
  return undefined;
}

function copyNumber(progress: CopyProgress, value: number): number | null {
  if (Number.isFinite(value)) return Object.is(value, -0) ? 0 : value;
  report(progress, 'INPUT_SHAPE', `${value} is not JSON.`, 'Use a finite number or null.');
  return null;
}

function copyArray(progress: CopyProgress, value: readonly unknown[]): Json[] {
  const list: Json[] = [];
  for (let index = 0; index < value.length && progress.valueCount <= PARSE_LIMITS.values; index++) {
    progress.path.push(index);
    list.push(copy(progress, value[index]) ?? null);
    progress.path.pop();
  }
  return list;
}

function copyObject(progress: CopyProgress, value: object): JsonObject {
  const object: JsonObject = {};
  for (const key of Object.keys(value)) {
    // The path is part of each diagnostic below it, so a long key would be copied into all of them.
    progress.path.push(
      key.length > PARSE_LIMITS.nameChars ? `${key.slice(0, PARSE_LIMITS.nameChars)}…` : key,
    );
    if (key === '__proto__') {
      report(progress, 'KEY_FORBIDDEN', 'The key "__proto__" is not allowed.', 'Remove or rename it.');
    } else {
      const item = copy(progress, (value as { [key: string]: unknown })[key]);
      if (item !== undefined) object[key] = item;
    }
    progress.path.pop();
    if (progress.valueCount > PARSE_LIMITS.values) break;
  }
  return object;
}

function reportTooLarge(progress: CopyProgress, excess: string): void {
  report(progress, 'INPUT_TOO_LARGE', `The workflow has ${excess}.`, 'Split it, or move the data out of it.');
}

function report(progress: CopyProgress, code: DiagnosticCode, message: string, hint: string): void {
  progress.sink.push(diagnostic(code, { path: [...progress.path], message, hint }));
}
