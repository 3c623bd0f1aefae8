import { BlockError, isJsonObject } from '@heddle/core/blocks';
import type { Json } from '@heddle/core/blocks';
import { parseJson } from '@heddle/core/fields';
import { asText } from './values.ts';

/** What a row of a variables block assigns, by the row's type; strict: JSON text has been parsed. Throws VARIABLE_INVALID. */
export function assignedValue(name: string, type: string, value: Json | undefined): Json {
  const empty = value === undefined || value === null || value === '';
  switch (type) {
    case 'number':
      return empty ? 0 : toNumber(name, value);
    case 'boolean':
      return empty ? false : toBoolean(name, value);
    case 'object':
      return empty ? {} : toStructure(name, value, 'an object');
    case 'array':
      return empty ? [] : toStructure(name, value, 'a list');
    default:
      return asText(value);
  }
}

function toNumber(name: string, value: Json): number {
  const number = typeof value === 'string' || typeof value === 'number' ? Number(value) : Number.NaN;
  if (Number.isNaN(number)) throw invalid(name, value, 'a number');
  return number;
}

function toBoolean(name: string, value: Json): boolean {
  if (typeof value === 'boolean') return value;
  const text = typeof value === 'string' ? value.trim().toLowerCase() : '';
  if (text !== 'true' && text !== 'false') throw invalid(name, value, 'true or false');
  return text === 'true';
}

/** Any value passes but text that is no JSON: reads bring it into the variable's shape. */
function toStructure(name: string, value: Json, expected: string): Json {
  if (typeof value === 'string') throw invalid(name, value, `${expected} as JSON`);
  return value;
}

function invalid(name: string, value: Json, expected: string): BlockError {
  const text = JSON.stringify(value);
  return new BlockError(
    'VARIABLE_INVALID',
    `The variable "${name}" cannot be set to ${text.length > 80 ? `${text.slice(0, 80)}…` : text}: ${expected} is needed.`,
    {
      retryable: false,
      details: { variable: name },
    },
  );
}

/** The value as reads of a variable of this type give it: what does not fit is brought into its shape, never refused. */
export function coerceVariable(type: string, value: Json): Json {
  if (value === '' || value === null || type === 'string' || type === 'plain') return value;
  const bare = typeof value === 'string' ? unquoted(value) : value;
  switch (type) {
    case 'number':
      return Number(bare) || 0;
    case 'boolean':
      return isTrue(bare);
    case 'object':
      return toObject(bare);
    case 'array':
      return toArray(bare);
    default:
      return value;
  }
}

function isTrue(value: Json): boolean {
  return value === true || (typeof value === 'string' && value.trim().toLowerCase() === 'true');
}

function toObject(value: Json): Json {
  if (typeof value === 'object') return value;
  if (typeof value !== 'string' || !value.trim().startsWith('{')) return { value };
  const parsed = parseJson(value);
  return isJsonObject(parsed) ? parsed : {};
}

function toArray(value: Json): Json {
  if (Array.isArray(value)) return value;
  if (typeof value !== 'string' || !value.trim().startsWith('[')) return [value];
  const parsed = parseJson(value);
  return Array.isArray(parsed) ? parsed : [];
}

function unquoted(text: string): string {
  const quote = text[0];
  return text.length > 1 && (quote === '"' || quote === "'") && text.endsWith(quote)
    ? text.slice(1, -1)
    : text;
}
