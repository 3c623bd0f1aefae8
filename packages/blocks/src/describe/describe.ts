import type { JsonObject } from '@heddle/core/blocks';
import * as z from 'zod';
import type { BlockDefinition } from '../define.ts';

/** The description of a block type for documentation, editors and programs. */
export interface BlockDescription {
  type: string;
  /** What the block does, in one sentence. */
  summary: string;
  /**
   * JSON Schema of the fields: an object whose properties are the fields by name. Any of them may contain references.
   */
  fields: JsonObject;
  /** JSON Schema of the output. */
  outputs: JsonObject;
}

/** Returns the description of a block from its schemas. */
export function describeBlock(
  type: string,
  { summary, fields, outputs }: Pick<BlockDefinition, 'summary' | 'fields' | 'outputs'>,
): BlockDescription {
  return { type, summary, fields: schemaOf(fields, 'input'), outputs: schemaOf(outputs, 'output') };
}

function schemaOf(schema: z.ZodObject, io: 'input' | 'output'): JsonObject {
  const { $schema: _, ...jsonSchema } = z.toJSONSchema(schema, { io, unrepresentable: 'any' });
  return JSON.parse(JSON.stringify(jsonSchema)) as JsonObject;
}
