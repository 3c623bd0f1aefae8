import { isDeepStrictEqual } from 'node:util';
import type { Json, JsonObject } from '@heddle/core';
import { isJsonObject } from '@heddle/core/blocks';
import type { Graph } from './graph.ts';

/** Names of credential fields, in lower case and without separators. */
const CREDENTIAL_NAME =
  /password|passwd|passphrase|secret|apikey|accesskey|privatekey|signingkey|credential|authorization|bearer|cookie|token$|^auth$|connectionstring/;
/** Types of sub-blocks whose value is or names a credential. */
const CREDENTIAL_TYPES: ReadonlySet<string> = new Set(['oauth-input', 'credential-selector', 'password']);
/** A value that is only a reference to a secret. */
const REFERENCE = /^\s*(?:(?:bearer|basic|token)\s+)?(?:\{\{[^{}]+\}\}|<[^<>]+>)\s*$/i;

/**
 * Returns the graph with null in place of every credential: in sub-blocks, table rows such as headers, tool parameters,
 * and variables. A value that is only `{{NAME}}` or a reference is kept.
 */
export function withoutCredentials(graph: Graph): Graph {
  const blocks = Object.entries(graph.blocks).map(([id, block]): [string, JsonObject] => {
    const subBlocks = block['subBlocks'];
    if (!isJsonObject(subBlocks)) return [id, block];
    const redacted = Object.entries(subBlocks).map(([key, field]) => [key, subBlock(key, field)] as const);
    return [id, { ...block, subBlocks: Object.fromEntries(redacted) }];
  });
  const variables = Object.entries(graph.variables).map(
    ([id, variable]) => [id, redacted(variable)] as const,
  );
  return { ...graph, blocks: Object.fromEntries(blocks), variables: Object.fromEntries(variables) };
}

function subBlock(key: string, field: Json): Json {
  if (!isJsonObject(field)) return isCredential(key) ? redactedSecret(field) : redacted(field);
  const { type, value = null } = field;
  const isSecret = isCredential(key) || (typeof type === 'string' && CREDENTIAL_TYPES.has(type));
  return { ...field, value: isSecret ? redactedSecret(value) : redacted(value) };
}

/** Redacts the value of a variable or form row whose name is that of a credential. */
function redactedNamed(entry: JsonObject): JsonObject {
  const { name, value = null } = entry;
  return typeof name === 'string' && isCredential(name) ? { ...entry, value: redactedSecret(value) } : entry;
}

/** Deeper values are not checked, so they are removed. */
const MAX_DEPTH = 100;

/** Returns the value with its contents redacted, including those of JSON text. */
function redacted(value: Json, depth = 0): Json {
  if (typeof value === 'string') return redactedText(value, depth);
  if (typeof value !== 'object' || value === null) return value;
  if (depth >= MAX_DEPTH) return null;
  if (Array.isArray(value)) return value.map((each) => redacted(each, depth + 1));
  const { Key, Value } = value;
  // A row of a table, of headers for example.
  if (typeof Key === 'string' && isCredential(Key)) return { ...value, Value: redactedSecret(Value ?? null) };
  const entries = Object.entries(value).map(
    ([key, inner]) => [key, isCredential(key) ? redactedSecret(inner) : redacted(inner, depth + 1)] as const,
  );
  const inside = Object.fromEntries(entries);
  return typeof inside['name'] === 'string' && 'value' in inside ? redactedNamed(inside) : inside;
}

function redactedText(text: string, depth: number): string {
  const before = /^\s*[[{]/.test(text) ? parsed(text) : undefined;
  if (before === undefined) return text;
  const after = redacted(before, depth);
  return isDeepStrictEqual(after, before) ? text : JSON.stringify(after);
}

/** Returns the text parsed as JSON; undefined for text that only looks like JSON, such as an expression or code. */
function parsed(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

function redactedSecret(value: Json): Json {
  return typeof value === 'string' && REFERENCE.test(value) ? value : null;
}

/** Returns whether a field, variable, header or parameter of this name has a credential. */
export function isCredential(name: string): boolean {
  return CREDENTIAL_NAME.test(name.toLowerCase().replaceAll(/[^a-z0-9]/g, ''));
}
