import { isDeepStrictEqual } from 'node:util';
import { isJsonObject } from '@heddle/core/blocks';
import type { Json, JsonObject } from '@heddle/core/blocks';
import { isCredentialName } from '../workflows/redact.ts';
import { isReferenceOrPlaceholder } from './graph.ts';

// Recognizes secrets by the name of their field, and by their format.

/** Names, without separators, of fields that only select the secrets of a function block and have none themselves. */
const NON_SECRET_NAME = /^(?:secretscope|mountedsecrets)$/i;

/** Takes the place of a secret inside other text. */
const REMOVED = 'REMOVED';

/**
 * Patterns of secrets that can be recognized by their format, each with its replacement. Every quantifier before a
 * required character is bounded or starts at the beginning of a token, so that the time grows linearly with the length
 * of the text.
 */
const PATTERNS: readonly (readonly [RegExp, string])[] = [
  [/-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|$)/g, REMOVED],
  [/(?<![A-Za-z0-9])sk-(?=[A-Za-z_-]{0,40}\d)[A-Za-z0-9_-]{20,}/g, REMOVED],
  [/(?<![A-Za-z0-9])xox[abeprs]-[A-Za-z0-9-]{10,}/g, REMOVED],
  [/(?<![A-Za-z0-9])(?:gh[opsur]_|github_pat_|glpat-|npm_|hf_|pypi-|ya29\.)[A-Za-z0-9_-]{20,}/g, REMOVED],
  [/(?<![A-Za-z0-9])(?:[rsp]k_(?:live|test)_|whsec_)[A-Za-z0-9]{16,}/g, REMOVED],
  [/(?<![A-Za-z0-9])(?:AKIA|ASIA)[0-9A-Z]{16}(?![A-Za-z0-9])/g, REMOVED],
  [/(?<![A-Za-z0-9])AIza[A-Za-z0-9_-]{35}/g, REMOVED],
  [/(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{5,}/g, REMOVED],
  [/\b(bearer|basic)\s{1,5}(?=[A-Za-z+/=._~-]{0,200}\d)[A-Za-z0-9+/=._~-]{16,}/gi, `$1 ${REMOVED}`],
  [/(?<![A-Za-z0-9])([a-z][a-z0-9+.-]{1,20}:\/\/)[^\s/:@<>{}]{0,200}:[^\s/@<>{}]{1,500}@/gi, `$1${REMOVED}@`],
  [
    /([?&](?:[a-z-]{0,20}[_-]?(?:token|secret|signature|password)|sig|(?:[a-z]{1,10}[_-]?)?key)=)[^&\s"'`<>{}]+/gi,
    `$1${REMOVED}`,
  ],
  [
    /((?:password|passwd|secret|token|api[_-]?key)["'`]?\s{0,5}[:=]\s{0,5})(["'`])(?=[^"'`\n\\<{]{0,200}\d)[^"'`\n\\<{]{6,500}\2/gi,
    `$1$2${REMOVED}$2`,
  ],
];

/** Maximum depth of a value that is checked. Deeper values are removed. */
const MAX_DEPTH = 100;

/** Returns whether a field, variable, header or parameter of this name holds a secret. */
export function isSecretName(name: string): boolean {
  return isCredentialName(name) && !NON_SECRET_NAME.test(name.replaceAll(/[^a-zA-Z0-9]/g, ''));
}

/** Returns null for a secret, or the value if it only refers to one (`{{NAME}}`, `<block.output>`) or is a boolean. */
export function clearSecret(value: Json): Json {
  return typeof value === 'boolean' || isReferenceOrPlaceholder(value) ? value : null;
}

/** Returns the value without secrets, including those in JSON text, in rows of tables and in named values. */
export function withoutSecrets(value: Json, depth = 0): Json {
  if (typeof value === 'string') return cleanText(value, depth);
  if (typeof value !== 'object' || value === null) return value;
  if (depth >= MAX_DEPTH) return null;
  if (Array.isArray(value)) return value.map((item) => withoutSecrets(item, depth + 1));
  return cleanObject(value, depth);
}

function cleanObject(object: JsonObject, depth: number): JsonObject {
  const secretValueKey = NAMED_VALUE_KEYS.find(([nameKey, valueKey]) => {
    const name = Object.hasOwn(object, nameKey) ? object[nameKey] : undefined;
    return typeof name === 'string' && isSecretName(name) && Object.hasOwn(object, valueKey);
  })?.[1];
  const entries = Object.entries(object).map(([key, value]): [string, Json] => {
    if (key === secretValueKey) return [key, clearSecret(value)];
    if (!isSecretName(key)) return [key, withoutSecrets(value, depth + 1)];
    return [key, isSchema(value) ? withoutValueKeywords(value, depth + 1) : clearSecret(value)];
  });
  return Object.fromEntries(entries);
}

/** Pairs of keys with which an object names a value: form fields, variables, and rows of headers. */
const NAMED_VALUE_KEYS = [
  ['name', 'value'],
  ['variableName', 'value'],
  ['key', 'value'],
  ['Key', 'Value'],
] as const;

const SCHEMA_TYPES: ReadonlySet<unknown> = new Set([
  'string',
  'number',
  'integer',
  'boolean',
  'object',
  'array',
  'null',
  'json',
  'any',
]);

/** Returns whether the value of a field with the name of a secret is a schema, as in the definition of a tool. */
function isSchema(value: Json): value is JsonObject {
  return isJsonObject(value) && Object.hasOwn(value, 'type') && SCHEMA_TYPES.has(value['type']);
}

const SCHEMA_KEYS: ReadonlySet<string> = new Set([
  'type',
  'description',
  'format',
  'items',
  'properties',
  'required',
]);

/** Returns a schema without keywords that may contain values. */
function withoutValueKeywords(schema: JsonObject, depth: number): Json {
  return withoutSecrets(
    Object.fromEntries(Object.entries(schema).filter(([key]) => SCHEMA_KEYS.has(key))),
    depth,
  );
}

function cleanText(text: string, depth: number): Json {
  const parsedValue = /^\s*[[{]/.test(text) ? parseJson(text) : undefined;
  if (parsedValue !== undefined) {
    const cleanValue = withoutSecrets(parsedValue, depth + 1);
    if (!isDeepStrictEqual(cleanValue, parsedValue)) return JSON.stringify(cleanValue);
    return text;
  }
  let cleanedText = text;
  for (const [pattern, replacement] of PATTERNS) cleanedText = cleanedText.replaceAll(pattern, replacement);
  return cleanedText.trim() === REMOVED ? null : cleanedText;
}

/** Returns the text parsed as JSON; undefined for text that only looks like JSON, such as an expression or code. */
function parseJson(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}
