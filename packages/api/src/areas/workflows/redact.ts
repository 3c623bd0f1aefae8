import { isDeepStrictEqual } from 'node:util';
import type { Json, JsonObject } from '@heddle/core';
import { isJsonObject } from '@heddle/core/blocks';
import type { Graph } from './graph.ts';

/** Names of fields that carry credentials, without case and separators. */
const CREDENTIAL_NAME =
  /password|passwd|passphrase|secret|apikey|accesskey|privatekey|signingkey|credential|authorization|bearer|cookie|token$|^auth$|connectionstring/;
/** Types of sub-blocks whose value names or is a credential. */
const CREDENTIAL_TYPES: ReadonlySet<string> = new Set(['oauth-input', 'credential-selector', 'password']);
/** A value that only names where the secret is. */
const REFERENCE = /^\s*(?:(?:bearer|basic|token)\s+)?(?:\{\{[^{}]+\}\}|<[^<>]+>)\s*$/i;

/**
 * Returns the graph with null in place of every value that carries a credential: in sub-blocks, in rows of tables such
 * as headers, in the parameters of tools, and in variables. A value that is only `{{NAME}}` or a reference stays.
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
  if (!isJsonObject(field)) return isCredential(key) ? secret(field) : redacted(field);
  const { type, value = null } = field;
  const isSecret = isCredential(key) || (typeof type === 'string' && CREDENTIAL_TYPES.has(type));
  return { ...field, value: isSecret ? secret(value) : redacted(value) };
}

/** A variable, or a row of a form: its name tells whether its value is a credential. */
function withNamed(entry: JsonObject): JsonObject {
  const { name, value = null } = entry;
  return typeof name === 'string' && isCredential(name) ? { ...entry, value: secret(value) } : entry;
}

/** What lies deeper is not looked at, and not shown. */
const DEEPEST = 100;

/** The value, redacted inside, also where it is JSON text. */
function redacted(value: Json, depth = 0): Json {
  if (typeof value === 'string') return redactedText(value, depth);
  if (typeof value !== 'object' || value === null) return value;
  if (depth >= DEEPEST) return null;
  if (Array.isArray(value)) return value.map((each) => redacted(each, depth + 1));
  const { Key, Value } = value;
  // A row of a table of headers or parameters.
  if (typeof Key === 'string' && isCredential(Key)) return { ...value, Value: secret(Value ?? null) };
  const entries = Object.entries(value).map(
    ([key, inner]) => [key, isCredential(key) ? secret(inner) : redacted(inner, depth + 1)] as const,
  );
  const inside = Object.fromEntries(entries);
  return typeof inside['name'] === 'string' && 'value' in inside ? withNamed(inside) : inside;
}

function redactedText(text: string, depth: number): string {
  const before = /^\s*[[{]/.test(text) ? parsed(text) : undefined;
  if (before === undefined) return text;
  const after = redacted(before, depth);
  return isDeepStrictEqual(after, before) ? text : JSON.stringify(after);
}

/** What the text says as JSON; undefined for what only looks like it: an expression, or code. */
function parsed(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

function secret(value: Json): Json {
  return typeof value === 'string' && REFERENCE.test(value) ? value : null;
}

function isCredential(name: string): boolean {
  return CREDENTIAL_NAME.test(name.toLowerCase().replaceAll(/[^a-z0-9]/g, ''));
}
