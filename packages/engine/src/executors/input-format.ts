import { isJsonObject, own } from '@heddle/core/blocks';
import type { Json, JsonObject } from '@heddle/core/blocks';
import { parsedText } from '@heddle/core/fields';
import { asRows } from './values.ts';

/** One declared input of a start block or a pause. */
export interface InputField {
  name: string;
  type: string;
  /** Default; undefined when there is none. */
  value: Json | undefined;
  required: boolean;
}

/** The declared inputs of an `inputFormat` value; rows whose name is no text are left out. */
export function inputFields(format: Json | undefined): InputField[] {
  const fields: InputField[] = [];
  for (const row of asRows(parsedText(format ?? null)) ?? []) {
    const name = own(row, 'name');
    if (typeof name !== 'string' || name.trim() === '') continue;
    const type = own(row, 'type');
    fields.push({
      name: name.trim(),
      type: typeof type === 'string' ? type : 'string',
      value: own(row, 'value') ?? undefined,
      required: own(row, 'required') === true,
    });
  }
  return fields;
}

/** The value as the field's type, or unchanged where it does not fit. */
export function coerceField(value: Json, type: string): Json {
  switch (type) {
    case 'string':
      return plainText(value);
    case 'number':
      return toNumber(value);
    case 'boolean':
      return toBoolean(value);
    case 'object':
    case 'array':
    case 'file[]':
      return parsedText(value);
    default:
      return value;
  }
}

/** JavaScript's own conversion to text, which exported workflows rely on: a list joins its items, an object says nothing. */
function plainText(value: Json): string {
  if (Array.isArray(value)) return value.map((item) => (item === null ? '' : plainText(item))).join(',');
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
 * The declared fields with their values: given ones win over defaults, null counts as not given, and a field
 * with neither is absent. `nested` (the `input` of the input) wins over the top level.
 */
export function fillFields(
  fields: readonly InputField[],
  top: JsonObject,
  nested: Json | undefined,
): Map<string, Json> {
  const inner = isJsonObject(nested) ? nested : {};
  const filled = new Map<string, Json>();
  for (const field of fields) {
    const value = own(inner, field.name) ?? own(top, field.name) ?? field.value;
    if (value !== undefined) filled.set(field.name, coerceField(value, field.type));
  }
  return filled;
}
