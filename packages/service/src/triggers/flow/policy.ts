import { createHash } from 'node:crypto';
import type { Json, JsonObject } from '@heddle/core';
import type { FlowPolicy } from '@heddle/engine/triggers';

/** Returns how the runs of a trigger with this configuration are held back; undefined: they are not. */
export function flowOf(config: JsonObject): FlowPolicy | undefined {
  return config['flow'] as FlowPolicy | undefined;
}

/** Maximum length of a key that is stored unhashed, in characters. */
const MAX_KEY = 200;

/** Returns the key of an event as text; empty for an input without it. A long one is a hash. */
export function keyOf({ key }: FlowPolicy, input: Json): string {
  if (key === undefined) return '';
  const value = valueAt(input, key.split('.'));
  if (value === undefined || value === null) return '';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  // Databases store no NUL, and a text that is no valid Unicode is changed by them.
  return text.length <= MAX_KEY && text.isWellFormed() && !text.includes('\0')
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

/** Returns the id of the events that are counted together. */
export function groupOf(
  { scope }: FlowPolicy,
  { workflowId, blockId, key }: { workflowId: string; blockId: string; key: string },
): string {
  return hashOf(JSON.stringify([workflowId, scope === 'workflow' ? null : blockId, key]));
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
