import type { Operation } from './operations.ts';
import { digestOf } from './schemas.ts';

/** Maximum length of a tool name that all model providers accept. */
const MAX_NAME_CHARS = 64;

/**
 * Returns a name for each operation: letters, digits, `_` and `-`, at most 64 characters. The names do not depend on
 * the order of the operations: names that would be equal or too long end in a digest of method and path.
 */
export function operationNames(
  service: string,
  operations: readonly Pick<Operation, 'method' | 'path' | 'key' | 'operationId'>[],
): string[] {
  const names = operations.map(
    ({ method, path, operationId }) =>
      `${service}_${toIdentifier(operationId ?? `${method.toLowerCase()} ${path}`)}`,
  );
  const counts = new Map<string, number>();
  for (const name of names) counts.set(toLowerCase(name), (counts.get(toLowerCase(name)) ?? 0) + 1);
  return names.map((name, index) => {
    if (name.length <= MAX_NAME_CHARS && counts.get(toLowerCase(name)) === 1) return name;
    return `${name.slice(0, MAX_NAME_CHARS - 9).replace(/[_-]+$/, '')}_${digestOf(operations[index]?.key ?? '')}`;
  });
}

/** Returns the name in lower case: models confuse names that differ only in case. */
function toLowerCase(name: string): string {
  return name.toLowerCase();
}

function toIdentifier(text: string): string {
  const identifier = text
    .slice(0, 500)
    .replaceAll(/[^A-Za-z0-9_-]+/g, '_')
    .replaceAll(/_{2,}/g, '_')
    .replaceAll(/^[_-]+|[_-]+$/g, '');
  return identifier === '' ? 'operation' : identifier;
}

/**
 * Returns a name for each argument: letters, digits, `_`, `.` and `-`, at most 64 characters. A name that is already
 * used gets the location of the parameter as prefix (`query_id`). If this is used, too, the name ends in a digest.
 */
export function argumentNames(parameters: readonly { in: string; name: string }[]): string[] {
  const usedNames = new Set<string>();
  return parameters.map((parameter) => {
    const base = parameter.name.replaceAll(/[^A-Za-z0-9_.-]+/g, '_').replaceAll(/^_+|_+$/g, '');
    const candidates = [
      base,
      `${parameter.in}_${base}`,
      `${base.slice(0, MAX_NAME_CHARS - 9)}_${digestOf(`${parameter.in} ${parameter.name}`)}`,
    ];
    const name =
      candidates.find((candidate) => isArgumentName(candidate) && !usedNames.has(candidate)) ??
      candidates[2] ??
      base;
    usedNames.add(name);
    return name;
  });
}

function isArgumentName(name: string): boolean {
  return /^[A-Za-z0-9_.-]{1,64}$/.test(name) && name !== '__proto__';
}

/**
 * Returns true if a pattern with `*` for any characters matches the whole text. Takes time proportional to the lengths
 * of both.
 */
export function matchesPattern(pattern: string, text: string): boolean {
  const literals = pattern.split('*');
  const [first = '', ...others] = literals;
  const last = others.pop();
  if (last === undefined) return pattern === text;
  if (!text.startsWith(first)) return false;
  let position = first.length;
  for (const literal of others) {
    const index = text.indexOf(literal, position);
    if (index < 0) return false;
    position = index + literal.length;
  }
  return text.length - last.length >= position && text.endsWith(last);
}
