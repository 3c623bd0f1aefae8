import type { BlockContext, BlockResult, JsonObject } from '@heddle/core/blocks';
import type { ExecutorServices } from '@heddle/engine';
import * as z from 'zod';
import { invalidConfigError } from './invalid-config-error.ts';
import type { BlocksOptions } from './options.ts';

/** The context of one attempt to run a block of this package. */
export type Context = BlockContext<ExecutorServices>;

/** The parameters of a block: its fields as parsed by its schema, its context, and the options of the package. */
export interface BlockCall<Fields> {
  fields: Fields;
  context: Context;
  options: BlocksOptions;
}

/** A block of this package. It is loaded when the block first runs. */
export interface BlockDefinition<
  Fields extends z.ZodObject = z.ZodObject,
  Outputs extends z.ZodObject = z.ZodObject,
> {
  /** What the block does, in one sentence. */
  summary: string;
  /** The fields, each with a description. The type of a field determines how it is read: see `readFields`. */
  fields: Fields;
  /** The output, each key with a description. */
  outputs: Outputs;
  /** Returns the output, and the port if it is not `source`. Throws a BlockError. */
  run(call: BlockCall<z.output<Fields>>): Promise<{ output: z.input<Outputs>; port?: string }>;
}

/** Returns the definition unchanged, with the types of its fields and its output. */
export function defineLazyBlock<Fields extends z.ZodObject, Outputs extends z.ZodObject>(
  definition: BlockDefinition<Fields, Outputs>,
): BlockDefinition<Fields, Outputs> {
  return definition;
}

/** Runs a block once. Throws a BlockError, BLOCK_CONFIG_INVALID for fields that do not match the schema. */
export async function runBlock(
  definition: BlockDefinition,
  context: Context,
  options: BlocksOptions,
): Promise<BlockResult> {
  const fields = readFields(definition.fields, context);
  const { output, port } = await definition.run({ fields, context, options });
  return { output: output as JsonObject, ...(port !== undefined && { port }) };
}

/**
 * Returns the fields of a block as its schema reads them. In a string field, values of references become text. An array
 * or object field may be JSON text, whose structure these values cannot change. Any other field keeps the type of its
 * value. Empty fields count as absent.
 *
 * Throws BLOCK_CONFIG_INVALID with all problems.
 */
export function readFields<Fields extends z.ZodObject>(schema: Fields, context: Context): z.output<Fields> {
  const values: JsonObject = {};
  for (const [name, field] of Object.entries(schema.shape)) {
    const value = context.field(name, modeOf(field as z.ZodType)) ?? null;
    if (value !== null && !(typeof value === 'string' && value.trim() === '')) values[name] = value;
  }
  const parsed = schema.safeParse(values);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(({ path, message }) => {
    const [name = ''] = path;
    const isMissing = path.length === 1 && !Object.hasOwn(values, name);
    return isMissing ? `"${String(name)}" is empty` : `"${path.join('.')}": ${message}`;
  });
  throw invalidConfigError(context, `has fields that it cannot use: ${problems.join('; ')}`);
}

function modeOf(schema: z.ZodType): 'text' | 'native' | 'json' {
  let unwrappedSchema = schema;
  while (
    unwrappedSchema instanceof z.ZodOptional ||
    unwrappedSchema instanceof z.ZodDefault ||
    unwrappedSchema instanceof z.ZodNullable
  )
    unwrappedSchema = unwrappedSchema.unwrap() as z.ZodType;
  if (unwrappedSchema instanceof z.ZodString) return 'text';
  return unwrappedSchema instanceof z.ZodArray || unwrappedSchema instanceof z.ZodObject ? 'json' : 'native';
}
