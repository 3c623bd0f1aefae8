import { isJsonObject, getOwn } from '@heddle/core/blocks';
import type { Json, JsonObject } from '@heddle/core/blocks';

/** A field of a block type, for editors. */
export interface BlockField {
  id: string;
  /** The control that edits the field. */
  type: string;
  required?: boolean;
  description?: string;
  options?: { id: string }[];
  min?: number;
  max?: number;
  integer?: boolean;
  /** Whether the value of the field is a credential. */
  password?: boolean;
  language?: string;
  defaultValue?: Json;
}

/** Names of fields that contain a credential. */
const CREDENTIAL_NAME = /(?:key|secret|password|token)$/i;
/** Names of fields that contain no credential, although they end like names of credentials. */
const NON_CREDENTIAL_NAME = /^(?:maxTokens|idempotencyKey)$/i;

/** Returns the properties of a schema of an object. */
export function propertiesOf(schema: JsonObject): [string, JsonObject][] {
  const properties = getOwn(schema, 'properties');
  if (!isJsonObject(properties)) return [];
  return Object.entries(properties).map(([name, property]) => [name, isJsonObject(property) ? property : {}]);
}

/** Returns the fields of a block type. `schema` is the JSON Schema of all its fields: an object. */
export function fieldsOf(schema: JsonObject): BlockField[] {
  const required = getOwn(schema, 'required');
  const requiredNames = new Set(Array.isArray(required) ? required : []);
  return propertiesOf(schema).map(([id, property]) => fieldOf(id, property, requiredNames.has(id)));
}

/** Returns the type of the schema's values: a type of JSON Schema, several types joined by `|`, or `any`. */
export function valueTypeOf(schema: JsonObject): string {
  const type = getOwn(schema, 'type');
  if (typeof type === 'string') return type;
  const anyOf = getOwn(schema, 'anyOf');
  if (!Array.isArray(anyOf)) return 'any';
  const valueTypes = anyOf.map((option) => (isJsonObject(option) ? valueTypeOf(option) : 'any'));
  return valueTypes.includes('any') ? 'any' : [...new Set(valueTypes)].join('|');
}

function fieldOf(id: string, schema: JsonObject, required: boolean): BlockField {
  const description = getOwn(schema, 'description');
  const defaultValue = getOwn(schema, 'default');
  const [min, max] = [getOwn(schema, 'minimum'), getOwn(schema, 'maximum')];
  return {
    id,
    ...controlOf(id, schema),
    ...(required && defaultValue === undefined && { required }),
    ...(typeof description === 'string' && { description }),
    ...(typeof min === 'number' && { min }),
    ...(typeof max === 'number' && { max }),
    ...(defaultValue !== undefined && { defaultValue }),
  };
}

function controlOf(id: string, schema: JsonObject): Omit<BlockField, 'id'> {
  const options = getOwn(schema, 'enum');
  if (Array.isArray(options))
    return { type: 'dropdown', options: options.map((option) => ({ id: toOptionId(option) })) };
  const valueType = valueTypeOf(schema);
  if (valueType.split('|').includes('boolean')) return { type: 'switch' };
  if (valueType === 'number' || valueType === 'number|string') return { type: 'short-input' };
  if (valueType === 'integer') return { type: 'short-input', integer: true };
  if (/array|object/.test(valueType)) return { type: 'code', language: 'json' };
  if (CREDENTIAL_NAME.test(id) && !NON_CREDENTIAL_NAME.test(id))
    return { type: 'short-input', password: true };
  return { type: 'long-input' };
}

function toOptionId(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
