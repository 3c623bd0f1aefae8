import type { Json, JsonObject } from '../json.ts';
import type { InputField } from './input-format.ts';

/** Returns a JSON Schema of the input of a workflow with these fields. Without fields, it accepts any object. */
export function inputSchema(
  fields: readonly Pick<InputField, 'name' | 'type' | 'description' | 'required'>[],
): JsonObject {
  const properties = fields.map(({ name, type, description }): [string, Json] => [
    name,
    { ...schemaOf(type), ...(description !== undefined && { description }) },
  ]);
  const required = fields.filter((field) => field.required).map(({ name }) => name);
  return {
    type: 'object',
    properties: Object.fromEntries(properties),
    ...(required.length > 0 && { required }),
  };
}

function schemaOf(type: string): JsonObject {
  if (type === 'string' || type === 'number' || type === 'boolean' || type === 'object') return { type };
  if (type === 'file[]' || type === 'files') return { type: 'array', items: { type: 'object' } };
  return type === 'array' ? { type: 'array', items: {} } : {};
}
