import { Validator } from '@cfworker/json-schema';
import type { LanguageModelV4CallOptions } from '@ai-sdk/provider';
import { BlockError, isJsonObject } from '@heddle/core/blocks';
import type { Json, JsonObject } from '@heddle/core/blocks';

const MAX_SCHEMA_CHARS = 100_000;
const MAX_DEPTH = 32;
const MAX_ERRORS = 10;

/** The answer that an agent must give: JSON that matches a schema. */
export interface ResponseFormat {
  name: string;
  schema: JsonObject;
  /** The provider can guarantee the schema: all properties are required, and there are no others. */
  strict: boolean;
}

/**
 * Returns the format that the field `responseFormat` describes: `{ name, schema }`, the same below `json_schema`, or the
 * schema itself, as an object or as JSON text. Undefined for an empty field.
 *
 * Throws BLOCK_CONFIG_INVALID.
 */
export function responseFormatOf(value: Json | undefined, block: string): ResponseFormat | undefined {
  const parsed = typeof value === 'string' ? parse(value, block) : (value ?? null);
  if (parsed === null || (isJsonObject(parsed) && Object.keys(parsed).length === 0)) return undefined;
  if (!isJsonObject(parsed)) throw invalid(block, 'is not an object');
  const named = isJsonObject(parsed['json_schema']) ? parsed['json_schema'] : parsed;
  const schema = isJsonObject(named['schema']) ? named['schema'] : named;
  checkSchema(schema, (why) => invalid(block, why));
  const name = typeof named['name'] === 'string' ? named['name'] : '';
  return { name: name.replaceAll(/[^\w-]/g, '_').slice(0, 64) || 'answer', schema, strict: isStrict(schema) };
}

/** Returns the options of a call that ask for the format. */
export function formatOptions(
  format: ResponseFormat | undefined,
): Pick<LanguageModelV4CallOptions, 'responseFormat' | 'providerOptions'> {
  if (!format) return {};
  const { name, schema, strict } = format;
  const providers = ['openai', 'azure', 'groq', 'mistral'];
  return {
    responseFormat: { type: 'json', name, schema: schema as never },
    // With a schema that is not strict, these providers would refuse the call.
    ...(!strict && {
      providerOptions: Object.fromEntries(
        providers.map((provider) => [provider, { strictJsonSchema: false, structuredOutputs: true }]),
      ),
    }),
  };
}

/** Returns the JSON of an answer, or why it does not match the schema. */
export function readFormatted(text: string, schema: JsonObject): { value: Json } | { problems: string } {
  let value: Json;
  try {
    value = JSON.parse(withoutFence(text)) as Json;
  } catch (error) {
    return { problems: `it is not JSON (${(error as Error).message})` };
  }
  const problems = schemaProblems(value, schema);
  return problems === undefined ? { value } : { problems };
}

/** Returns how a value differs from a schema; undefined: it matches. The schema was checked before. */
export function schemaProblems(value: Json, schema: JsonObject): string | undefined {
  const { valid, errors } = new Validator(withoutPatterns(schema) as never, '2020-12', false).validate(value);
  if (valid) return undefined;
  // The last errors are the most specific ones.
  const texts = errors
    .slice(-MAX_ERRORS)
    .map(({ instanceLocation, error }) => `${instanceLocation}: ${error}`);
  return texts.join('; ');
}

/** Throws what `refuse` returns for a schema that could keep the validator busy, or that it cannot read. */
export function checkSchema(schema: JsonObject, refuse: (why: string) => Error): void {
  if (JSON.stringify(schema).length > MAX_SCHEMA_CHARS)
    throw refuse(`has more than ${MAX_SCHEMA_CHARS} characters`);
  if (depthOf(schema) > MAX_DEPTH) throw refuse(`is nested more than ${MAX_DEPTH} levels deep`);
  const foreign = JSON.stringify(schema).match(/"\$ref":"(?!#)[^"]*"/);
  if (foreign) throw refuse(`refers to another document (${foreign[0].slice(0, 100)})`);
  try {
    new Validator(withoutPatterns(schema) as never, '2020-12', false).validate(null);
  } catch (error) {
    throw refuse(`is not a JSON Schema: ${(error as Error).message}`);
  }
}

function parse(text: string, block: string): Json {
  if (text.trim() === '') return null;
  try {
    return JSON.parse(text) as Json;
  } catch (error) {
    throw invalid(block, `is not JSON: ${(error as Error).message}`);
  }
}

function invalid(block: string, why: string): BlockError {
  return new BlockError('BLOCK_CONFIG_INVALID', `The response format of the block "${block}" ${why}.`, {
    retryable: false,
  });
}

function depthOf(value: Json): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Object.values(value).reduce<number>((deepest, item) => Math.max(deepest, depthOf(item)), 0);
}

/** True if every object of the schema requires all its properties and allows no others. */
function isStrict(schema: Json): boolean {
  if (typeof schema !== 'object' || schema === null) return true;
  if (Array.isArray(schema)) return schema.every(isStrict);
  const { properties, required, additionalProperties } = schema;
  if (isJsonObject(properties)) {
    const names = Array.isArray(required) ? required : [];
    if (additionalProperties !== false || !Object.keys(properties).every((name) => names.includes(name)))
      return false;
  }
  return Object.values(schema).every(isStrict);
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

/** Models put JSON into a fence of Markdown even if they are asked not to. */
function withoutFence(text: string): string {
  return /^\s*```(?:json)?\s*\n([\s\S]*?)\n?\s*```\s*$/.exec(text)?.[1] ?? text;
}
