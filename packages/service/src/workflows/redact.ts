import { isDeepStrictEqual } from 'node:util';
import type { Json, JsonObject } from '@heddle/core';
import { isJsonObject } from '@heddle/core/blocks';
import type { Graph } from './graph.ts';

/** Names of credential fields, in lower case and without separators. */
const CREDENTIAL_NAME =
  /password|passwd|passphrase|secret|apikey|accesskey|privatekey|signingkey|credential|authorization|bearer|cookie|token$|^auth$|connectionstring/;
/** Types of sub-blocks whose value is or names a credential. */
const CREDENTIAL_TYPES: ReadonlySet<string> = new Set(['oauth-input', 'credential-selector', 'password']);
/** A value that is only a reference, possibly after an authentication scheme. */
const REFERENCE = /^\s*(?:(?:bearer|basic|token)\s+)?(?:\{\{[^{}]+\}\}|<[^<>]+>)\s*$/i;

/**
 * Returns the graph with null in place of every credential: in sub-blocks, table rows such as headers, tool parameters,
 * and variables. A value that is only `{{NAME}}` or a reference is kept.
 */
export function redactCredentials(graph: Graph): Graph {
  const blocks = Object.entries(graph.blocks).map(([id, block]): [string, JsonObject] => {
    const subBlocks = block['subBlocks'];
    if (!isJsonObject(subBlocks)) return [id, block];
    const fields = Object.entries(subBlocks).map(([key, field]) => [key, redactField(key, field)] as const);
    return [id, { ...block, subBlocks: Object.fromEntries(fields) }];
  });
  const variables = Object.entries(graph.variables).map(([id, variable]) => [id, redact(variable)] as const);
  return { ...graph, blocks: Object.fromEntries(blocks), variables: Object.fromEntries(variables) };
}

function redactField(key: string, field: Json): Json {
  if (!isJsonObject(field)) return isCredentialName(key) ? redactSecret(field) : redact(field);
  const { type, value = null } = field;
  const isSecret = isCredentialName(key) || (typeof type === 'string' && CREDENTIAL_TYPES.has(type));
  return { ...field, value: isSecret ? redactSecret(value) : redact(value) };
}

/** Returns a variable or a row of a form, with its value redacted if its name is that of a credential. */
function redactNamedValue(entry: JsonObject): JsonObject {
  const { name, value = null } = entry;
  return typeof name === 'string' && isCredentialName(name)
    ? { ...entry, value: redactSecret(value) }
    : entry;
}

/** Maximum depth of a value that is checked. Deeper values are removed. */
const MAX_DEPTH = 100;

/** Returns the value with null in place of the credentials in it, also in JSON text. */
function redact(value: Json, depth = 0): Json {
  if (typeof value === 'string') return redactText(value, depth);
  if (typeof value !== 'object' || value === null) return value;
  if (depth >= MAX_DEPTH) return null;
  if (Array.isArray(value)) return value.map((item) => redact(item, depth + 1));
  const { Key, Value } = value;
  // A row of a table, for example of headers.
  if (typeof Key === 'string' && isCredentialName(Key))
    return { ...value, Value: redactSecret(Value ?? null) };
  const entries = Object.entries(value).map(
    ([key, propertyValue]) =>
      [key, isCredentialName(key) ? redactSecret(propertyValue) : redact(propertyValue, depth + 1)] as const,
  );
  const copy = Object.fromEntries(entries);
  return typeof copy['name'] === 'string' && 'value' in copy ? redactNamedValue(copy) : copy;
}

function redactText(text: string, depth: number): string {
  const original = /^\s*[[{]/.test(text) ? parseJson(text) : undefined;
  if (original === undefined) return text;
  const copy = redact(original, depth);
  return isDeepStrictEqual(copy, original) ? text : JSON.stringify(copy);
}

/** Returns the text parsed as JSON; undefined for text that only looks like JSON, such as an expression or code. */
function parseJson(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

function redactSecret(value: Json): Json {
  return typeof value === 'string' && REFERENCE.test(value) ? value : null;
}

/** Returns whether a field, variable, header or parameter of this name has a credential. */
export function isCredentialName(name: string): boolean {
  return CREDENTIAL_NAME.test(name.toLowerCase().replaceAll(/[^a-z0-9]/g, ''));
}
