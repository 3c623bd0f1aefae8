import { BLOCK_FIELDS } from '@heddle/core/drafts';
import type { Json, JsonObject } from '@heddle/core';
import * as z from 'zod';
import { isContainer, objectOr } from '../containers.ts';
import { textOr } from './draft-editor.ts';

/** Maximum number of tools of an agent. */
const MAX_TOOLS = 100;

/** The editor's type of a field that a draft does not have yet. */
const TYPE_OF_NEW_FIELD = 'short-input';

const tool = z.looseObject({
  type: z.string().min(1).max(255),
  operation: z.string().max(255).nullish(),
  usageControl: z.enum(['auto', 'force', 'none']).nullish(),
  params: z.record(z.string(), z.unknown()).nullish(),
});

const needed: Readonly<Record<string, z.ZodType>> = {
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
  unknown: string[];
  /** Values that the field does not accept. */
  refused: { field: string; error: string }[];
}

/** Sets the inputs that fit, in place. Settings of loops and parallels are in the block's data. */
export function setInputs(block: JsonObject, inputs: { [field: string]: unknown }): InputsOutcome {
  const type = textOr(block['type']);
  const fields = BLOCK_FIELDS.get(type)?.shape as { [field: string]: z.ZodType } | undefined;
  const outcome: InputsOutcome = { unknown: [], refused: [] };
  const kept = Object.entries(inputs as JsonObject).filter(([field, value]) => {
    if (fields && !Object.hasOwn(fields, field)) {
      outcome.unknown.push(field);
      return false;
    }
    const error = faultOf(type, field, { value, schema: fields?.[field] });
    if (error !== undefined) outcome.refused.push({ field, error });
    return error === undefined;
  });
  if (isContainer(type)) setAll(block, 'data', kept);
  else {
    const before = objectOr(block['subBlocks']);
    const set = kept.map(([id, value]): [string, Json] => {
      const stored = Object.hasOwn(before, id) ? objectOr(before[id]) : {};
      return [id, { ...stored, id, type: textOr(stored['type'], TYPE_OF_NEW_FIELD), value }];
    });
    setAll(block, 'subBlocks', set);
  }
  return outcome;
}

/** Sets properties of the object at `key`. Defined, not assigned: a name may be `__proto__`. */
function setAll(block: JsonObject, key: 'data' | 'subBlocks', entries: readonly [string, Json][]): void {
  const object = objectOr(block[key]);
  block[key] = object;
  for (const [name, value] of entries) {
    Object.defineProperty(object, name, { value, configurable: true, enumerable: true, writable: true });
  }
}

/** Returns the problem of a value; undefined if it has none. Values with references are known only at run time. */
function faultOf(
  type: string,
  field: string,
  { value, schema }: { value: Json; schema: z.ZodType | undefined },
): string | undefined {
  if (value === null || value === '') return undefined;
  if (type === 'agent' && field === 'tools') return toolsFault(value);
  if (!schema || /<[^<>]+>|\{\{/.test(JSON.stringify(value))) return undefined;
  const read = schema.safeParse(value);
  return read.success ? undefined : `expected ${read.error.issues[0]?.message ?? 'another value'}`;
}

function toolsFault(value: Json): string | undefined {
  // The text of a list is read when the block runs.
  if (typeof value === 'string') return undefined;
  if (!Array.isArray(value)) return 'expected a list of tools';
  if (value.length > MAX_TOOLS) return `expected at most ${MAX_TOOLS} tools, received ${value.length}`;
  const wrong = value.findIndex((each) => {
    const read = tool.safeParse(each);
    if (!read.success) return true;
    return Object.hasOwn(needed, read.data.type) && needed[read.data.type]?.safeParse(each).success === false;
  });
  return wrong < 0 ? undefined : `tool ${wrong + 1} lacks a field that its type requires`;
}
