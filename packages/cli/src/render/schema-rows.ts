import type { Json } from '@heddle/core';
import { isJsonObject } from '@heddle/core/blocks';
import type { JsonObject } from '@heddle/core/blocks';

export const DRAFT_7 = 'http://json-schema.org/draft-07/schema#';

/** Returns name, type and description of each property of a schema. */
export function schemaRows({ properties = {}, required = [] }: JsonObject): string[][] {
  return Object.entries(properties as JsonObject).map(([name, schema]) => {
    const { description = '' } = isJsonObject(schema) ? schema : {};
    const isRequired = (required as Json[]).includes(name);
    return [name, `${kindOf(schema)}${isRequired ? ', required' : ''}`, description as string];
  });
}

function kindOf(schema: Json): string {
  if (!isJsonObject(schema)) return 'any';
  const { type, enum: values, anyOf } = schema;
  if (Array.isArray(values))
    return values.every((value) => value === 'true' || value === 'false') ? 'text' : 'choice';
  if (Array.isArray(anyOf)) return [...new Set(anyOf.map((each) => kindOf(each)))].join(' or ');
  return typeof type === 'string' ? (NAMES[type] ?? type) : 'any';
}

const NAMES: { readonly [type: string]: string } = { string: 'text', array: 'list', boolean: 'switch' };
