import { Validator } from '@cfworker/json-schema';
import type { Json, JsonObject } from '@heddle/core/blocks';

const MAX_SCHEMA_CHARS = 100_000;
const MAX_DEPTH = 32;
const MAX_ERRORS = 10;

/** Returns how a value differs from a schema; undefined: it matches. */
export type SchemaCheck = (value: Json) => string | undefined;

/**
 * Returns the check of values against a JSON Schema, without its regular expressions and formats. Throws what `refuse` returns
 * for a schema that could keep the validator busy, or that it cannot read.
 */
export function compileSchema(schema: JsonObject, refuse: (why: string) => Error): SchemaCheck {
  const text = JSON.stringify(schema);
  if (text.length > MAX_SCHEMA_CHARS) throw refuse(`has more than ${MAX_SCHEMA_CHARS} characters`);
  if (depthOf(schema) > MAX_DEPTH) throw refuse(`is nested more than ${MAX_DEPTH} levels deep`);
  const foreign = text.match(/"\$ref":"(?!#)[^"]*"/);
  if (foreign) throw refuse(`refers to another document (${foreign[0].slice(0, 100)})`);
  const validator = new Validator(withoutPatterns(schema) as never, '2020-12', false);
  try {
    // Faults of the schema show when it is used.
    validator.validate(null);
  } catch (error) {
    throw refuse(`is not a JSON Schema: ${(error as Error).message}`);
  }
  return (value) => {
    const { valid, errors } = validator.validate(value);
    if (valid) return undefined;
    // The last errors are the most specific ones.
    const last = errors.slice(-MAX_ERRORS);
    return last.map(({ instanceLocation, error }) => `${instanceLocation}: ${error}`).join('; ');
  };
}

function depthOf(value: Json): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Object.values(value).reduce<number>((deepest, item) => Math.max(deepest, depthOf(item)), 0);
}

/** The schema without regular expressions and formats: an author could write one that takes hours for one answer. */
function withoutPatterns(schema: Json): Json {
  if (typeof schema !== 'object' || schema === null) return schema;
  if (Array.isArray(schema)) return schema.map(withoutPatterns);
  return Object.fromEntries(
    Object.entries(schema).flatMap(([key, value]) => {
      if ((key === 'pattern' || key === 'format') && typeof value === 'string') return [];
      if (key === 'patternProperties') return [];
      return [[key, withoutPatterns(value)]];
    }),
  );
}
