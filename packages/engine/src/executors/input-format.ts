import { isJsonObject, getOwn } from '@heddle/core/blocks';
import type { Json, JsonObject } from '@heddle/core/blocks';
import { parseIfJson } from '@heddle/core/fields';
import type { InputField } from '@heddle/core/fields';

/** Returns the value converted to a field type; unchanged if it cannot be converted. */
export function coerceField(value: Json, type: string): Json {
  switch (type) {
    case 'string':
      return toText(value);
    case 'number':
      return toNumber(value);
    case 'boolean':
      return toBoolean(value);
    case 'object':
    case 'array':
    case 'file[]':
      return parseIfJson(value);
    default:
      return value;
  }
}

/**
 * Converts to text as JavaScript does, because exported workflows rely on it: a list joins its items, an object becomes
 * `[object Object]`.
 */
function toText(value: Json): string {
  if (Array.isArray(value)) return value.map((item) => (item === null ? '' : toText(item))).join(',');
  return typeof value === 'object' && value !== null ? '[object Object]' : String(value);
}

function toNumber(value: Json): Json {
  if (typeof value === 'object') return value;
  const number = Number(value);
  return Number.isNaN(number) ? value : number;
}

const BOOLEANS: ReadonlyMap<Json, boolean> = new Map<Json, boolean>([
  [true, true],
  ['true', true],
  ['1', true],
  [1, true],
  [false, false],
  ['false', false],
  ['0', false],
  [0, false],
]);

function toBoolean(value: Json): Json {
  return BOOLEANS.get(value) ?? value;
}

/**
 * Returns the values of the declared fields: from `nestedInput` (the field `input` of the run's input), else from
 * `inputObject` (the input itself), else the default. Null counts as missing; a field without a value is absent.
 */
export function fillFields(
  fields: readonly InputField[],
  inputObject: JsonObject,
  nestedInput: Json | undefined,
): Map<string, Json> {
  const nestedValues = isJsonObject(nestedInput) ? nestedInput : {};
  const values = new Map<string, Json>();
  for (const field of fields) {
    const value = getOwn(nestedValues, field.name) ?? getOwn(inputObject, field.name) ?? field.value;
    if (value !== undefined) values.set(field.name, coerceField(value, field.type));
  }
  return values;
}
