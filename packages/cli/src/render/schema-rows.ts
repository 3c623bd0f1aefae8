import type { Json } from '@heddle/core';
import { isJsonObject } from '@heddle/core/blocks';
import type { JsonObject } from '@heddle/core/blocks';

export const DRAFT_7_URI = 'http://json-schema.org/draft-07/schema#';

/** Returns name, type and description of each property of a schema. */
export function schemaRows({ properties = {}, required = [] }: JsonObject): string[][] {
  return Object.entries(properties as JsonObject).map(([name, schema]) => {
    const { description = '' } = isJsonObject(schema) ? schema : {};
    const isRequired = (required as Json[]).includes(name);
    return [name, `${typeOf(schema)}${isRequired ? ', required' : ''}`, description as string];
  });
}

/** Returns the type of a schema as text: `string`, `string or number`, `enum`, or `any`. */
function typeOf(schema: Json): string {
  if (!isJsonObject(schema)) return 'any';
  const { type, enum: values, anyOf } = schema;
  // Boolean fields also accept the strings `true` and `false`: their type is "boolean or string", not "boolean or
  // enum".
  if (Array.isArray(values))
    return values.every((value) => value === 'true' || value === 'false') ? 'string' : 'enum';
  if (Array.isArray(anyOf)) return [...new Set(anyOf.map((alternative) => typeOf(alternative)))].join(' or ');
  return typeof type === 'string' ? type : 'any';
}
