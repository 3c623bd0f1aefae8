import { BlockError, isJsonObject } from '@heddle/core/blocks';
import type { BlockContext, BlockExecutor, BlockResult, Json, JsonObject } from '@heddle/core/blocks';
import * as z from 'zod';

/** The definition of a custom block, for `defineBlock`. */
export interface BlockDefinition<
  Input extends z.ZodType,
  Output extends z.ZodType<JsonObject> = z.ZodType<JsonObject>,
> {
  type: string;
  /** The fields, with resolved references. A field that is exactly one reference keeps the type of the value. */
  input: Input;
  /** The output; if present, references can name only its fields. */
  output?: Output;
  /**
   * `compute`: pure and fast; `effect` (default): has side effects, and may run twice after a crash (see
   * `idempotencyKey`).
   */
  class?: 'compute' | 'effect';
  run(input: z.output<Input>, context: BlockContext): Promise<z.input<Output>> | z.input<Output>;
}

/**
 * Returns an executor for blocks of one type, with typed fields and output. Register it in the options of the engine.
 *
 * Invalid fields fail the block with BLOCK_CONFIG_INVALID, and an invalid output with BLOCK_FAILED, each with all
 * issues and their paths. An error of `run` fails the block; a BlockError determines whether the failure is retryable.
 */
export function defineBlock<
  Input extends z.ZodType,
  Output extends z.ZodType<JsonObject> = z.ZodType<JsonObject>,
>(definition: BlockDefinition<Input, Output>): BlockExecutor {
  const { type, input, output } = definition;
  const outputs = output === undefined ? undefined : declaredOutputs(output);
  const required = requiredFields(input);
  return {
    types: [type],
    class: definition.class ?? 'effect',
    ...(outputs === undefined ? {} : { outputs }),
    ...(required.length === 0 ? {} : { required }),
    async execute(context): Promise<BlockResult> {
      const parsedFields = input.safeParse(withoutEmptyFields(context.fields()));
      if (!parsedFields.success)
        throw schemaError(
          'BLOCK_CONFIG_INVALID',
          `The fields of the block do not match its type "${type}"`,
          parsedFields.error,
        );
      const result = await definition.run(parsedFields.data, context);
      const parsedOutput = (output ?? ANY_OBJECT).safeParse(result);
      if (!parsedOutput.success)
        throw schemaError(
          'BLOCK_FAILED',
          `The output of the type "${type}" does not match its schema`,
          parsedOutput.error,
        );
      return { output: parsedOutput.data };
    },
  };
}

const ANY_OBJECT: z.ZodType<JsonObject> = z.record(z.string(), z.json());

/** Removes null values: an empty field counts as absent. */
function withoutEmptyFields(fields: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
}

function schemaError(code: string, text: string, error: z.ZodError): BlockError {
  const issues = error.issues.map((issue) => ({
    path: issue.path.map(String).join('.') || '(all)',
    message: issue.message,
  }));
  const list = issues.map(({ path, message }) => `${path}: ${message}`).join('; ');
  return new BlockError(code, `${text}: ${list}.`, {
    retryable: code !== 'BLOCK_CONFIG_INVALID',
    details: { issues },
  });
}

/** Returns the names and types of the properties of an object schema; undefined for other schemas. */
function declaredOutputs(schema: z.ZodType): { [name: string]: string } | undefined {
  const { properties, additionalProperties } = jsonSchema(schema, 'output');
  if (!isJsonObject(properties) || isJsonObject(additionalProperties) || additionalProperties === true)
    return undefined;
  return Object.fromEntries(
    Object.entries(properties).map(([name, property]) => [name, outputType(property)]),
  );
}

const OUTPUT_TYPES: ReadonlySet<Json> = new Set<Json>(['string', 'number', 'boolean', 'array']);

function outputType(property: Json): string {
  const type = isJsonObject(property) ? property['type'] : undefined;
  if (type === 'integer') return 'number';
  return typeof type === 'string' && OUTPUT_TYPES.has(type) ? type : 'json';
}

function requiredFields(schema: z.ZodType): string[] {
  const { required } = jsonSchema(schema, 'input');
  return Array.isArray(required) ? required.filter((name) => typeof name === 'string') : [];
}

/** Returns the schema as JSON Schema, which cannot express transforms and custom checks. */
function jsonSchema(schema: z.ZodType, io: 'input' | 'output'): JsonObject {
  const json: unknown = JSON.parse(JSON.stringify(z.toJSONSchema(schema, { io, unrepresentable: 'any' })));
  return isJsonObject(json) ? json : {};
}
