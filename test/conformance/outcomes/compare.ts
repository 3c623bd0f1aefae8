import { isJsonObject } from '@heddle/core/blocks';
import type { Json } from '@heddle/core';

/** Returns the first difference between two values as a message; undefined if they are equal. */
export function difference(
  expected: Json | undefined,
  actual: Json | undefined,
  path = 'output',
): string | undefined {
  if (isJsonObject(expected) && '$error' in expected)
    return errorDifference(expected['$error'], actual, path);
  if (Array.isArray(expected) && Array.isArray(actual)) {
    if (expected.length !== actual.length)
      return `${path}: ${expected.length} items expected, got ${formatValue(actual)}`;
    return firstDifference(
      expected.map((item, index) => difference(item, actual[index], `${path}[${index}]`)),
    );
  }
  if (isJsonObject(expected) && isJsonObject(actual)) {
    const keys = new Set([...Object.keys(expected), ...Object.keys(actual)]);
    return firstDifference([...keys].map((key) => difference(expected[key], actual[key], `${path}.${key}`)));
  }
  if (Object.is(expected, actual)) return undefined;
  return `${path}: expected ${formatValue(expected)}, got ${formatValue(actual)}`;
}

/**
 * Returns the difference between an expected and an actual error message. `true` accepts any message; a string must be
 * part of the actual message.
 */
export function errorDifference(
  expected: Json | undefined,
  actual: Json | undefined,
  path: string,
): string | undefined {
  if (typeof actual !== 'string' || actual === '')
    return `${path}: an error message expected, got ${formatValue(actual)}`;
  if (typeof expected !== 'string' || actual.includes(expected)) return undefined;
  return `${path}: the text "${expected}" is missing from ${formatValue(actual)}`;
}

function firstDifference(differences: readonly (string | undefined)[]): string | undefined {
  return differences.find((candidate) => candidate !== undefined);
}

function formatValue(value: Json | undefined): string {
  return value === undefined ? 'nothing' : (JSON.stringify(value).slice(0, 300) ?? 'nothing');
}
