import { createHash } from 'node:crypto';
import type { Json, JsonObject } from '@heddle/core';
import type { FlowPolicy } from '@heddle/engine/triggers';

/** Returns the flow control of a trigger with this configuration; undefined if it has none. */
export function flowPolicyOf(config: JsonObject): FlowPolicy | undefined {
  return config['flow'] as FlowPolicy | undefined;
}

/** Maximum number of characters of a key that is stored unchanged. */
const MAX_KEY_CHARACTERS = 200;

/** Returns the key of an event: empty if the input has none, and a hash if it is long or cannot be stored. */
export function keyOf({ key }: FlowPolicy, input: Json): string {
  if (key === undefined) return '';
  const value = valueAt(input, key.split('.'));
  if (value === undefined || value === null) return '';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  // Databases cannot store NUL, and they change strings that are not valid Unicode.
  return text.length <= MAX_KEY_CHARACTERS && text.isWellFormed() && !text.includes('\0')
    ? text
    : `sha256:${hashOf(text)}`;
}

function valueAt(input: Json, path: readonly string[]): Json | undefined {
  let value: Json | undefined = input;
  for (const name of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
    value = (value as { readonly [name: string]: Json })[name];
  }
  return value;
}

/** Returns the id of a group: the events that share the limits of flow control. */
export function hashGroupId(
  { scope }: FlowPolicy,
  { workflowId, blockId, key }: { workflowId: string; blockId: string; key: string },
): string {
  return hashOf(JSON.stringify([workflowId, scope === 'workflow' ? null : blockId, key]));
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
