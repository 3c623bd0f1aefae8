import { EngineError, isJsonObject, getOwn } from '@heddle/core/blocks';
import type { Json, JsonObject } from '@heddle/core/blocks';

/** Maximum number of values in one document. The largest public documents have about two million. */
const MAX_VALUES = 4_000_000;
const MAX_LEVELS = 100;
/** Maximum length of the lists that a Swagger 2.0 document declares for all operations: media types and schemes. */
const MAX_TYPES = 50;
/** Maximum number of references that are followed one after another, each to an object that is again a reference. */
const MAX_CHAIN_LENGTH = 32;

/** An OpenAPI 3 document. No object in it has a key `__proto__`. */
export interface OpenApiDocument {
  root: JsonObject;
}

/**
 * A part of a document that cannot be used. The message is a predicate, such as `refers to …, which is not in the
 * document`.
 */
export class UnsupportedDocumentError extends Error {
  override readonly name = 'UnsupportedDocumentError';
}

/**
 * Returns the document as OpenAPI 3; converts Swagger 2.0. The caller's value does not change.
 *
 * Throws OPENAPI_INVALID for a value that is not such a document, or is too large or too deep.
 */
export async function readDocument(value: unknown): Promise<OpenApiDocument> {
  const copy = copyJson(value, { remaining: MAX_VALUES }, 0);
  if (!isJsonObject(copy)) throw invalidDocumentError('is not a JSON object');
  const root = getOwn(copy, 'swagger') === undefined ? copy : await convertSwagger(copy);
  const version = getOwn(root, 'openapi');
  if (typeof version !== 'string' || !/^3\.[0-2](?:\.|$)/.test(version))
    throw invalidDocumentError(
      'does not name a version that Heddle reads: "openapi" must be 3.0, 3.1 or 3.2, or "swagger" 2.0',
    );
  if (!isJsonObject(getOwn(root, 'paths'))) throw invalidDocumentError('has no "paths"');
  return { root };
}

/** Returns OPENAPI_INVALID: `The OpenAPI document <problem>.` */
export function invalidDocumentError(problem: string): EngineError {
  return new EngineError('OPENAPI_INVALID', `The OpenAPI document ${problem}.`);
}

/** An object of a document. `pointer` is the reference that led to it, if there was one. */
export interface ResolvedObject {
  object: JsonObject;
  pointer: string | undefined;
}

/**
 * Returns an object of the document, or the object that it refers to. Undefined for a value that is not an object.
 *
 * Throws UnsupportedDocumentError for an unresolvable or circular reference, for a longer chain of references than
 * `MAX_CHAIN_LENGTH`, and for a reference to another document.
 */
export function resolve(document: OpenApiDocument, value: Json | undefined): ResolvedObject | undefined {
  let [current, pointer]: [Json | undefined, string | undefined] = [value, undefined];
  const followedReferences = new Set<string>();
  while (isJsonObject(current)) {
    const reference = getOwn(current, '$ref');
    if (typeof reference !== 'string') return { object: current, pointer };
    if (followedReferences.has(reference)) throw new UnsupportedDocumentError('has a circular reference');
    if (followedReferences.size === MAX_CHAIN_LENGTH)
      throw new UnsupportedDocumentError(`has a chain of more than ${MAX_CHAIN_LENGTH} references`);
    followedReferences.add(reference);
    [current, pointer] = [valueAt(document, reference), reference];
  }
  return undefined;
}

/** Returns the value that a reference of the document names. Throws UnsupportedDocumentError if there is none. */
export function valueAt({ root }: OpenApiDocument, reference: string): Json {
  if (reference !== '#' && !reference.startsWith('#/'))
    throw new UnsupportedDocumentError(`refers to another document (${shorten(reference)})`);
  let current: Json | undefined = root;
  for (const token of tokensOf(reference)) {
    if (Array.isArray(current)) current = /^\d+$/.test(token) ? current[Number(token)] : undefined;
    else current = isJsonObject(current) ? getOwn(current, token) : undefined;
  }
  if (current === undefined)
    throw new UnsupportedDocumentError(`refers to ${shorten(reference)}, which is not in the document`);
  return current;
}

/** Returns the text as one token of a JSON Pointer in a `$ref`: escaped and percent-encoded. */
export function encodePointerToken(text: string): string {
  return encodeURIComponent(text.replaceAll('~', '~0').replaceAll('/', '~1'));
}

function tokensOf(reference: string): string[] {
  try {
    const tokens = reference.split('/').slice(1);
    return tokens.map((token) => decodeURIComponent(token).replaceAll('~1', '/').replaceAll('~0', '~'));
  } catch {
    throw new UnsupportedDocumentError(
      `has a reference with invalid percent-encoding (${shorten(reference)})`,
    );
  }
}

function shorten(text: string): string {
  return text.length > 100 ? `${text.slice(0, 100)}…` : text;
}

/** Converts a document of Swagger 2.0. The converter is loaded only for such documents. */
async function convertSwagger(document: JsonObject): Promise<JsonObject> {
  if (getOwn(document, 'swagger') !== '2.0')
    throw invalidDocumentError('has an unsupported "swagger" version: it must be "2.0"');
  // The conversion repeats these lists in every operation.
  for (const list of ['consumes', 'produces', 'schemes']) {
    const types = getOwn(document, list);
    if (Array.isArray(types) && types.length > MAX_TYPES)
      throw invalidDocumentError(`has more than ${MAX_TYPES} entries in "${list}"`);
  }
  const { upgradeFromTwoToThree } = await import('@scalar/openapi-upgrader/2.0-to-3.0');
  try {
    return upgradeFromTwoToThree(document) as JsonObject;
  } catch (error) {
    throw invalidDocumentError(`is not valid Swagger 2.0: ${(error as Error).message.slice(0, 200)}`);
  }
}

function copyJson(value: unknown, budget: { remaining: number }, depth: number): Json {
  if (--budget.remaining < 0)
    throw invalidDocumentError(`has more than ${MAX_VALUES.toLocaleString('en')} values`);
  if (isScalar(value)) return value;
  if (typeof value !== 'object' || value === null) throw invalidDocumentError('is not JSON');
  if (depth >= MAX_LEVELS) throw invalidDocumentError(`is nested more than ${MAX_LEVELS} levels deep`);
  if (Array.isArray(value)) return value.map((item) => copyJson(item, budget, depth + 1));
  const copy: JsonObject = {};
  for (const [key, item] of Object.entries(value)) {
    if (key === '__proto__') throw invalidDocumentError('has a key "__proto__"');
    if (item !== undefined) copy[key] = copyJson(item, budget, depth + 1);
  }
  return copy;
}

function isScalar(value: unknown): value is string | number | boolean | null {
  return value === null || ['string', 'boolean'].includes(typeof value) || Number.isFinite(value);
}
