import { BLOCK_FIELDS, typeTable } from '@heddle/core/drafts';
import type { JsonObject } from '@heddle/core/blocks';
import * as z from 'zod';
import type { BlockDescription } from './describe.ts';

/** Summaries of the blocks of the engine. */
const SUMMARIES: { readonly [type: string]: string } = {
  start_trigger: 'Starts a run with its input.',
  starter: 'Starts a run, in older workflows.',
  api_trigger: 'Starts a run through the API.',
  input_trigger: 'Starts a run with declared fields.',
  chat_trigger: 'Starts a run with a chat message.',
  manual_trigger: 'Starts a run manually.',
  function: 'Runs JavaScript, Python or a shell script in the sandbox.',
  condition: 'Takes the branch of the first true expression.',
  variables: 'Sets variables of the workflow.',
  response: 'Ends the run with data, a status and headers.',
  api: 'Sends an HTTP request.',
  webhook_request: 'Sends a signed HTTP request.',
  wait: 'Waits for a set time.',
  human_in_the_loop: 'Waits for a person.',
  workflow: 'Runs another workflow.',
  workflow_input: 'Runs another workflow, with a mapped input.',
  loop: 'Runs the blocks inside repeatedly.',
  parallel: 'Runs the blocks inside in several concurrent branches.',
};

/** Returns the descriptions of the blocks that every engine runs. Fields of loops and parallels are in their `data`. */
export function describeBuiltIns(): BlockDescription[] {
  const types = typeTable();
  return [...BLOCK_FIELDS].map(([type, { shape }]) => ({
    type,
    summary: SUMMARIES[type] ?? '',
    fields: objectSchemaOf(
      Object.entries(shape).map(([name, field]) => [name, fieldSchema(field as z.ZodType)]),
    ),
    outputs: objectSchemaOf(
      Object.entries(types.get(type)?.outputs ?? {}).map(([name, kind]) => [name, kindSchema(kind)]),
    ),
  }));
}

function objectSchemaOf(properties: [string, JsonObject][]): JsonObject {
  return { type: 'object', properties: Object.fromEntries(properties) };
}

/**
 * Returns the schema of a field's value after conversion. If this schema has no `type`, `enum` or `anyOf`, returns the
 * schema of the input.
 */
function fieldSchema(field: z.ZodType): JsonObject {
  const [output, input] = (['output', 'input'] as const).map((io) => {
    const { $schema: _, ...schema } = z.toJSONSchema(field, { io, unrepresentable: 'any' });
    return JSON.parse(JSON.stringify(schema)) as JsonObject;
  }) as [JsonObject, JsonObject];
  const declaresValues = (schema: JsonObject): boolean =>
    ['type', 'enum', 'anyOf'].some((key) => Object.hasOwn(schema, key));
  const { description } = z.globalRegistry.get(field) ?? {};
  return { ...(declaresValues(output) ? output : input), ...(description !== undefined && { description }) };
}

/** Returns the schema of a declared output. `json` and `any` allow any value. */
function kindSchema(kind: string): JsonObject {
  return ['string', 'number', 'boolean', 'array'].includes(kind) ? { type: kind } : {};
}
