import { isJsonObject, getOwn, type Json } from '../json.ts';
import type { PathStep } from './template.ts';

const DIGITS = /^\d+$/;
const BRACKETS = /^([^[\]]*)((?:\[[^[\]]*\])+)$/;

/** A step that never resolves: the index is negative, malformed or not a number. */
const INVALID_STEP: PathStep = { index: null };

/**
 * Returns the steps of a dotted path: `a.b[0][1].2` is a, b, index 0, index 1, index 2.
 *
 * Never fails: an empty segment is the key '', and segments that are neither keys nor indexes become steps that never
 * resolve (negative and malformed indexes, keys with a space, which references cannot name).
 */
export function parsePath(path: string): PathStep[] {
  return path.split('.').flatMap(parseSegment);
}

/** Returns the steps of one segment between dots: `name`, `name[0][1]`, `[0]` or bare digits. */
export function parseSegment(segment: string): PathStep[] {
  if (DIGITS.test(segment)) return [indexStep(segment)];
  if (/\s/.test(segment)) return [INVALID_STEP];
  if (!segment.includes('[')) return [segment];
  const match = BRACKETS.exec(segment);
  if (match === null) return [INVALID_STEP];
  const [, name = '', brackets = ''] = match;
  const indexes = brackets.slice(1, -1).split('][').map(indexStep);
  if (name === '') return indexes;
  return [DIGITS.test(name) ? indexStep(name) : name, ...indexes];
}

/** Returns the value at a path, or undefined. Uses own properties only, and indexes only in arrays. */
export function followPath(value: Json | undefined, path: readonly PathStep[]): Json | undefined {
  let current = value;
  for (const step of path) {
    if (current === undefined || current === null) return undefined;
    current = typeof step === 'string' ? propertyOf(current, step) : itemAt(current, step.index);
  }
  return current;
}

function indexStep(digits: string): PathStep {
  const index = DIGITS.test(digits) ? Number(digits) : Number.NaN;
  return Number.isSafeInteger(index) ? { index } : INVALID_STEP;
}

function propertyOf(value: Json, key: string): Json | undefined {
  if (Array.isArray(value)) return key === 'length' ? value.length : undefined;
  return isJsonObject(value) ? getOwn(value, key) : undefined;
}

function itemAt(value: Json, index: number | null): Json | undefined {
  return Array.isArray(value) && index !== null ? value[index] : undefined;
}
