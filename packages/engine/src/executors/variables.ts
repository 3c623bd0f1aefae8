import { BlockError, isJsonObject, getOwn } from '@heddle/core/blocks';
import type { BlockResult, Json, VariableConfig } from '@heddle/core/blocks';
import { parseJson } from '@heddle/core/fields';
import type { EngineContext, EngineExecutor } from './services.ts';
import { asRows, asText } from './values.ts';

/** Sets workflow variables. An unknown name appears only in the output. */
export const variablesExecutor: EngineExecutor = {
  types: ['variables'],
  class: 'compute',
  execute: (context) => assign(context),
};

function assign(context: EngineContext): BlockResult {
  const rows = asRows(context.field('variables'));
  if (rows === undefined)
    throw new BlockError('BLOCK_CONFIG_INVALID', 'The assignments of the variables block are not a list.', {
      retryable: false,
    });
  // Reversed, so that the first of two equal names wins.
  const variables = context.services.run.variables.toReversed();
  const variablesById = new Map<Json | undefined, VariableConfig>(
    variables.map((variable) => [variable.id, variable]),
  );
  const variablesByName = new Map(variables.map((variable) => [variable.name, variable]));
  const output = new Map<string, Json>();
  const valuesById = new Map<string, Json>();
  for (const row of rows) {
    const variable =
      variablesById.get(getOwn(row, 'variableId')) ??
      variablesByName.get(asText(getOwn(row, 'variableName')).trim());
    const name = asText(getOwn(row, 'variableName')).trim() || variable?.name;
    if (name === undefined) continue;
    const value = assignedValue(name, asText(getOwn(row, 'type')) || 'string', getOwn(row, 'value'));
    output.set(name, value);
    if (variable !== undefined) valuesById.set(variable.id, coerceVariable(variable.type, value));
  }
  return { output: Object.fromEntries(output), set: Object.fromEntries(valuesById) };
}

/**
 * Returns the value that a row assigns, converted to the type of the row. JSON text has been parsed already. Throws
 * VARIABLE_INVALID.
 */
function assignedValue(name: string, type: string, value: Json | undefined): Json {
  const isEmpty = value === undefined || value === null || value === '';
  switch (type) {
    case 'number':
      return isEmpty ? 0 : toNumber(name, value);
    case 'boolean':
      return isEmpty ? false : toBoolean(name, value);
    case 'object':
      return isEmpty ? {} : toStructure(name, value, 'an object');
    case 'array':
      return isEmpty ? [] : toStructure(name, value, 'a list');
    default:
      return asText(value);
  }
}

function toNumber(name: string, value: Json): number {
  const number = typeof value === 'string' || typeof value === 'number' ? Number(value) : Number.NaN;
  if (Number.isNaN(number)) throw invalidVariableError(name, value, 'a number');
  return number;
}

function toBoolean(name: string, value: Json): boolean {
  if (typeof value === 'boolean') return value;
  const text = typeof value === 'string' ? value.trim().toLowerCase() : '';
  if (text !== 'true' && text !== 'false') throw invalidVariableError(name, value, 'true or false');
  return text === 'true';
}

/** Accepts any value except text: `coerceVariable` converts it. */
function toStructure(name: string, value: Json, expected: string): Json {
  if (typeof value === 'string') throw invalidVariableError(name, value, `${expected} as JSON`);
  return value;
}

function invalidVariableError(name: string, value: Json, expected: string): BlockError {
  const text = JSON.stringify(value);
  return new BlockError(
    'VARIABLE_INVALID',
    `The variable "${name}" cannot be set to ${text.length > 80 ? `${text.slice(0, 80)}…` : text}: it must be ${expected}.`,
    {
      retryable: false,
      details: { variable: name },
    },
  );
}

/** Returns the value converted to the type of the variable. Every value can be converted. */
function coerceVariable(type: string, value: Json): Json {
  if (value === '' || value === null || type === 'string' || type === 'plain') return value;
  const unquotedValue = typeof value === 'string' ? unquote(value) : value;
  switch (type) {
    case 'number':
      return Number(unquotedValue) || 0;
    case 'boolean':
      return isTrue(unquotedValue);
    case 'object':
      return toObject(unquotedValue);
    case 'array':
      return toArray(unquotedValue);
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

function unquote(text: string): string {
  const quote = text[0];
  return text.length > 1 && (quote === '"' || quote === "'") && text.endsWith(quote)
    ? text.slice(1, -1)
    : text;
}
