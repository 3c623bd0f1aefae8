import { BLOCK_FIELDS } from '@heddle/core/drafts';
import type { Json, JsonObject } from '@heddle/core';
import * as z from 'zod';
import { isContainer, objectOrEmpty } from '../containers.ts';
import { stringOrDefault } from './draft-editor.ts';

/** Maximum number of tools of an agent. */
const MAX_TOOLS = 100;

/** The sub-block type of a field that the draft does not have yet. */
const TYPE_OF_NEW_FIELD = 'short-input';

const tool = z.looseObject({
  type: z.string().min(1).max(255),
  operation: z.string().max(255).nullish(),
  usageControl: z.enum(['auto', 'force', 'none']).nullish(),
  params: z.record(z.string(), z.unknown()).nullish(),
});

/** The schemas of the fields that a tool must have, by type of tool. */
const toolRequirements: Readonly<Record<string, z.ZodType>> = {
  'custom-tool': z.union([
    z.looseObject({ customToolId: z.string().min(1) }),
    z.looseObject({ schema: z.looseObject({}), code: z.string() }),
  ]),
  mcp: z.looseObject({
    params: z.looseObject({ serverId: z.string().min(1), toolName: z.string().min(1) }),
  }),
  'mcp-server-advanced': z.looseObject({ params: z.looseObject({ serverId: z.string().min(1) }) }),
};

/** The result of setting the inputs of one block. */
export interface InputsOutcome {
  /** Fields that the type does not have. */
  unknownFields: string[];
  /** The fields whose values are not accepted, and why. */
  errors: { field: string; error: string }[];
}

/** Sets the valid inputs in `block`. Settings of loops and parallels are in the block's data. */
export function setInputs(block: JsonObject, inputs: { [field: string]: unknown }): InputsOutcome {
  const type = stringOrDefault(block['type']);
  const fields = BLOCK_FIELDS.get(type)?.shape as { [field: string]: z.ZodType } | undefined;
  const outcome: InputsOutcome = { unknownFields: [], errors: [] };
  const acceptedEntries = Object.entries(inputs as JsonObject).filter(([field, value]) => {
    if (fields && !Object.hasOwn(fields, field)) {
      outcome.unknownFields.push(field);
      return false;
    }
    const error = problemOf(type, field, { value, schema: fields?.[field] });
    if (error !== undefined) outcome.errors.push({ field, error });
    return error === undefined;
  });
  if (isContainer(type)) defineProperties(block, 'data', acceptedEntries);
  else {
    const storedFields = objectOrEmpty(block['subBlocks']);
    const fieldEntries = acceptedEntries.map(([id, value]): [string, Json] => {
      const storedField = Object.hasOwn(storedFields, id) ? objectOrEmpty(storedFields[id]) : {};
      return [
        id,
        { ...storedField, id, type: stringOrDefault(storedField['type'], TYPE_OF_NEW_FIELD), value },
      ];
    });
    defineProperties(block, 'subBlocks', fieldEntries);
  }
  return outcome;
}

/** Defines properties of the object at `key`. Assignment would fail for the name `__proto__`. */
function defineProperties(
  block: JsonObject,
  key: 'data' | 'subBlocks',
  entries: readonly [string, Json][],
): void {
  const object = objectOrEmpty(block[key]);
  block[key] = object;
  for (const [name, value] of entries) {
    Object.defineProperty(object, name, { value, configurable: true, enumerable: true, writable: true });
  }
}

/** Returns the problem of a value; undefined if it has none. Values with references are known only at run time. */
function problemOf(
  type: string,
  field: string,
  { value, schema }: { value: Json; schema: z.ZodType | undefined },
): string | undefined {
  if (value === null || value === '') return undefined;
  if (type === 'agent' && field === 'tools') return toolsProblem(value);
  if (!schema || /<[^<>]+>|\{\{/.test(JSON.stringify(value))) return undefined;
  const parsed = schema.safeParse(value);
  return parsed.success ? undefined : `expected ${parsed.error.issues[0]?.message ?? 'another value'}`;
}

function toolsProblem(value: Json): string | undefined {
  // A string is parsed as a list when the block runs.
  if (typeof value === 'string') return undefined;
  if (!Array.isArray(value)) return 'expected a list of tools';
  if (value.length > MAX_TOOLS) return `expected at most ${MAX_TOOLS} tools, received ${value.length}`;
  const invalidIndex = value.findIndex((item) => {
    const parsed = tool.safeParse(item);
    if (!parsed.success) return true;
    const { type } = parsed.data;
    return Object.hasOwn(toolRequirements, type) && toolRequirements[type]?.safeParse(item).success === false;
  });
  return invalidIndex < 0 ? undefined : `tool ${invalidIndex + 1} lacks a field that its type requires`;
}
