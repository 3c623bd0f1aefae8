import type { Json } from '../json.ts';
import { readJsonText } from './read-json-text.ts';
import type { Variable } from './workflow.ts';

type VariableType = Variable['type'];

/** Returns the value of a variable at the start of a run: the stored value, coerced to the variable's type. */
export function coerceAtStart(type: VariableType, value: Json): Json {
  if (value === null) return emptyValue(type);
  switch (type) {
    case 'number':
      return toNumber(value);
    case 'boolean':
      return isTrue(value);
    case 'array':
    case 'object':
      if (typeof value !== 'string') return value;
      return readJsonText(value).value ?? emptyValue(type);
    case 'string':
    case 'plain':
      return toText(value);
  }
}

/**
 * Returns the value that a reference to a variable reads: the current value, coerced to the variable's type again.
 *
 * An empty string and null stay as they are. Scalars in an object variable become `{value}`, in an array variable
 * `[x]`.
 */
export function coerceOnRead(type: VariableType, currentValue: Json): Json {
  if (currentValue === null || currentValue === '' || type === 'string' || type === 'plain')
    return currentValue;
  const value = typeof currentValue === 'string' ? withoutQuotes(currentValue) : currentValue;
  switch (type) {
    case 'number':
      return toNumber(value);
    case 'boolean':
      return isTrue(value);
    case 'object':
      return readAsObject(value);
    case 'array':
      return readAsArray(value);
  }
}

function emptyValue(type: VariableType): Json {
  const emptyValues: { [type in VariableType]: Json } = {
    number: 0,
    boolean: false,
    array: [],
    object: {},
    string: '',
    plain: '',
  };
  return emptyValues[type];
}

function isTrue(value: Json): boolean {
  return value === true || (typeof value === 'string' && value.toLowerCase() === 'true');
}

function toNumber(value: Json): number {
  const number = typeof value === 'object' ? Number.NaN : Number(value);
  return Number.isFinite(number) ? number : 0;
}

function toText(value: Json): string {
  if (typeof value === 'string') return value;
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

function withoutQuotes(text: string): string {
  const quote = text.charAt(0);
  const isQuoted = text.length >= 2 && (quote === '"' || quote === "'") && text.endsWith(quote);
  return isQuoted ? text.slice(1, -1) : text;
}

function readAsObject(value: Json): Json {
  if (typeof value === 'object') return value;
  if (typeof value !== 'string' || !value.trimStart().startsWith('{')) return { value };
  return readJsonText(value).value ?? {};
}

function readAsArray(value: Json): Json {
  if (Array.isArray(value)) return value;
  if (typeof value !== 'string' || !value.trimStart().startsWith('[')) return [value];
  return readJsonText(value).value ?? [];
}
