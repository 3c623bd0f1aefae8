import type { LanguageModelV4CallOptions } from '@ai-sdk/provider';
import { isJsonObject } from '@heddle/core/blocks';
import type { BlockContext, BlockError, Json, JsonObject } from '@heddle/core/blocks';
import { invalidConfigError } from '../invalid-config-error.ts';
import { compileThirdPartySchema } from './json-schema.ts';
import type { SchemaCheck } from './json-schema.ts';
import { unsatisfiableReason } from './unsatisfiable.ts';

/** The answer that an agent must give: JSON that matches a schema. */
export interface ResponseFormat {
  name: string;
  schema: JsonObject;
  /** Returns how an answer differs from the schema; undefined if it matches. */
  problemsOf: SchemaCheck;
  /** True if the provider can guarantee the schema: all properties are required, and no others are allowed. */
  strict: boolean;
}

/**
 * Returns the format that the field `responseFormat` describes: `{ name, schema }`, the same under `json_schema`, or
 * the schema itself, as an object or as JSON text. Undefined for an empty field.
 *
 * Throws BLOCK_CONFIG_INVALID.
 */
export function responseFormatOf(context: BlockContext): ResponseFormat | undefined {
  const value = context.field('responseFormat', 'json');
  const parsedValue = typeof value === 'string' ? parse(value, context) : (value ?? null);
  if (parsedValue === null || (isJsonObject(parsedValue) && Object.keys(parsedValue).length === 0))
    return undefined;
  if (!isJsonObject(parsedValue)) throw invalidFormatError(context, 'is not an object');
  const definition = isJsonObject(parsedValue['json_schema']) ? parsedValue['json_schema'] : parsedValue;
  const schema = isJsonObject(definition['schema']) ? definition['schema'] : definition;
  const name = typeof definition['name'] === 'string' ? definition['name'] : '';
  return createResponseFormat(name.replaceAll(/[^\w-]/g, '_').slice(0, 64) || 'answer', schema, (problem) =>
    invalidFormatError(context, problem),
  );
}

/**
 * Returns the format with this schema. Throws the error that `toError` returns for a schema that cannot be checked, or
 * that no value matches.
 */
export function createResponseFormat(
  name: string,
  schema: JsonObject,
  toError: (problem: string) => Error,
): ResponseFormat {
  const problemsOf = compileThirdPartySchema(schema, toError);
  const reason = unsatisfiableReason(schema);
  if (reason !== undefined) throw toError(`no answer can match: ${reason}`);
  return { name, schema, problemsOf, strict: isStrict(schema) };
}

/** Returns the options of a call that ask for the format. */
export function responseFormatOptions(
  format: ResponseFormat | undefined,
): Pick<LanguageModelV4CallOptions, 'responseFormat' | 'providerOptions'> {
  if (!format) return {};
  const { name, schema, strict } = format;
  const providers = ['openai', 'azure', 'mistral', 'openaiCompatible'];
  return {
    responseFormat: { type: 'json', name, schema: schema as never },
    // By default, these providers refuse a schema that is not strict.
    ...(!strict && {
      providerOptions: Object.fromEntries(
        providers.map((provider) => [provider, { strictJsonSchema: false, structuredOutputs: true }]),
      ),
    }),
  };
}

/** Returns the JSON of an answer, or why it does not match the schema. */
export function parseFormattedAnswer(
  text: string,
  { problemsOf }: Pick<ResponseFormat, 'problemsOf'>,
): { value: Json } | { problems: string } {
  let value: Json;
  try {
    value = JSON.parse(withoutFence(text)) as Json;
  } catch (error) {
    return { problems: `it is not JSON (${(error as Error).message})` };
  }
  const problems = problemsOf(value);
  return problems === undefined ? { value } : { problems };
}

function parse(text: string, context: BlockContext): Json {
  if (text.trim() === '') return null;
  try {
    return JSON.parse(text) as Json;
  } catch (error) {
    throw invalidFormatError(context, `is not JSON: ${(error as Error).message}`);
  }
}

function invalidFormatError(context: BlockContext, problem: string): BlockError {
  return invalidConfigError(context, `has a response format that ${problem}`);
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

/** Returns the text without the Markdown fence that models put around JSON even if asked not to. */
function withoutFence(text: string): string {
  return /^\s*```(?:json)?\s*\n([\s\S]*?)\n?\s*```\s*$/.exec(text)?.[1] ?? text;
}
