import { isJsonObject, getOwn } from '@heddle/core/blocks';
import type { Json, JsonObject } from '@heddle/core/blocks';
import { encodePointerToken, resolve, UnsupportedDocumentError } from './document.ts';
import type { OpenApiDocument, ResolvedObject } from './document.ts';

export const METHODS = ['GET', 'PUT', 'POST', 'DELETE', 'OPTIONS', 'HEAD', 'PATCH'] as const;
export type Method = (typeof METHODS)[number];

/** Methods of OpenAPI that clients cannot send, or that few servers support. */
const UNSUPPORTED_METHODS = ['trace', 'query'];

export const LOCATIONS = ['path', 'query', 'header', 'cookie'] as const;
export type ParameterLocation = (typeof LOCATIONS)[number];

/** A parameter of an operation, as its document describes it. */
export interface Parameter {
  in: ParameterLocation;
  name: string;
  required: boolean;
  description: string | undefined;
  schema: Json | undefined;
  style: string;
  explode: boolean;
  allowReserved: boolean;
  /** True if the value is sent as JSON text. */
  json: boolean;
}

/** The body of a request in the one media type that is used. */
export interface Body {
  mediaType: string;
  required: boolean;
  description: string | undefined;
  schema: Json | undefined;
  encoding: JsonObject;
}

/** An operation whose references to parameters and bodies are resolved. */
export interface Operation {
  method: Method;
  path: string;
  /** Method and path as the document has them; no two operations have the same. */
  key: string;
  operationId: string | undefined;
  summary: string;
  description: string;
  tags: string[];
  parameters: Parameter[];
  body: Body | undefined;
  /** Media types of successful responses. */
  responseMediaTypes: string[];
  /** Alternatives, each an object of security schemes; undefined: the document declares none. */
  security: JsonObject[] | undefined;
  servers: JsonObject[];
}

/** An operation, or why it cannot be read. `key` is its method and path. */
export type OperationResult = { key: string; operation: Operation } | { key: string; reason: string };

const RESERVED_HEADERS =
  /^(?:accept|authorization|content-type|content-length|content-encoding|transfer-encoding|te|trailer|connection|keep-alive|upgrade|expect|host|cookie|proxy-.*|sec-.*|x-forwarded-.*|forwarded|via|x-sim-via)$/i;

/**
 * Returns true for a header that no argument may set, because it belongs to the client, the connection or the
 * credential.
 */
export function isReservedHeader(name: string): boolean {
  return RESERVED_HEADERS.test(name);
}

/** Maximum number of characters of a path. No usual document has longer paths. */
const MAX_PATH_CHARS = 1000;
const MAX_PARAMETERS = 200;
const MAX_TAGS = 20;
const MAX_ALTERNATIVES = 20;
const MAX_TEXT_CHARS = 5000;

/** Returns all operations of the document, in its order. */
export function* operationsOf(document: OpenApiDocument): Generator<OperationResult> {
  const paths = objectOrEmpty(getOwn(document.root, 'paths'));
  const seenItems = new Set<JsonObject>();
  for (const [path, value] of Object.entries(paths)) {
    if (path.startsWith('x-')) continue;
    try {
      const { object: item } = resolve(document, value) ?? {};
      if (!item) continue;
      // Operations that many paths share would make the result far larger than the document.
      if (seenItems.has(item)) throw new UnsupportedDocumentError('has the operations of another path');
      seenItems.add(item);
      yield* operationsAt(document, path, item);
    } catch (error) {
      yield { key: `* ${shorten(path)}`, reason: reasonOf(error) };
    }
  }
}

function* operationsAt(
  document: OpenApiDocument,
  path: string,
  item: JsonObject,
): Generator<OperationResult> {
  for (const [key, value] of Object.entries(item)) {
    const operationKey = `${key.toUpperCase()} ${shorten(path)}`;
    if (UNSUPPORTED_METHODS.includes(key))
      yield { key: operationKey, reason: `uses the method ${key.toUpperCase()}` };
    const method = METHODS.find((candidate) => candidate.toLowerCase() === key);
    if (!method) continue;
    try {
      if (!isJsonObject(value)) throw new UnsupportedDocumentError('is not an object');
      yield { key: operationKey, operation: operationOf(document, { path, item }, { method, value }) };
    } catch (error) {
      yield { key: operationKey, reason: reasonOf(error) };
    }
  }
}

/** Returns the message of an UnsupportedDocumentError. Rethrows other errors. */
export function reasonOf(error: unknown): string {
  if (error instanceof UnsupportedDocumentError) return error.message;
  throw error;
}

function operationOf(
  document: OpenApiDocument,
  { path, item }: { path: string; item: JsonObject },
  { method, value }: { method: Method; value: JsonObject },
): Operation {
  checkPath(path);
  const { root } = document;
  const security = getOwn(value, 'security') ?? getOwn(root, 'security');
  const servers = [value, item, root].map((source) => getOwn(source, 'servers'));
  const operationId = getOwn(value, 'operationId');
  return {
    method,
    // Some documents use fragments to tell operations of one path apart.
    path: path.replace(/[?#].*$/s, ''),
    key: `${method} ${path}`,
    operationId: typeof operationId === 'string' && operationId.trim() !== '' ? operationId : undefined,
    summary: trimmedTextOrEmpty(getOwn(value, 'summary')) || trimmedTextOrEmpty(getOwn(item, 'summary')),
    description:
      trimmedTextOrEmpty(getOwn(value, 'description')) || trimmedTextOrEmpty(getOwn(item, 'description')),
    tags: listOrEmpty(getOwn(value, 'tags')).slice(0, MAX_TAGS).map(tagOf),
    parameters: parametersOf(document, path, [item, value]),
    body: method === 'GET' || method === 'HEAD' ? undefined : bodyOf(document, getOwn(value, 'requestBody')),
    responseMediaTypes: responseMediaTypes(document, getOwn(value, 'responses')),
    security: Array.isArray(security)
      ? security.slice(0, MAX_ALTERNATIVES).filter((requirement) => isJsonObject(requirement))
      : undefined,
    servers: listOrEmpty(servers.find((server) => listOrEmpty(server).length > 0))
      .slice(0, 1)
      .filter((server) => isJsonObject(server)),
  };
}

function checkPath(path: string): void {
  if (!path.startsWith('/')) throw new UnsupportedDocumentError('has a path that does not begin with /');
  if (path.length > MAX_PATH_CHARS)
    throw new UnsupportedDocumentError(`has a path of more than ${MAX_PATH_CHARS} characters`);
  const hasDotSegment = path.split('/').some((segment) => /^\.\.?$/.test(segment.replaceAll(/%2e/gi, '.')));
  if (hasDotSegment || /[\\\p{Cc}]/u.test(path))
    throw new UnsupportedDocumentError('has a path with ".", "..", a backslash or a control character');
}

/**
 * Returns the parameters of the path item and of the operation. A parameter of the operation replaces a parameter of
 * the path item with the same location and name.
 */
function parametersOf(document: OpenApiDocument, path: string, sources: readonly JsonObject[]): Parameter[] {
  const placeholders = new Set([...path.matchAll(/\{([^{}]+)\}/g)].map(([, name = '']) => name));
  const parameters = new Map<string, Parameter>();
  const values = sources.flatMap((source) => listOrEmpty(getOwn(source, 'parameters')));
  if (values.length > MAX_PARAMETERS)
    throw new UnsupportedDocumentError(`has more than ${MAX_PARAMETERS} parameters`);
  for (const value of values) {
    const parameter = parameterOf(document, value);
    if (!parameter) continue;
    if (parameter.in === 'header' && isReservedHeader(parameter.name)) continue;
    if (parameter.in === 'path' && !placeholders.has(parameter.name)) continue;
    parameters.set(`${parameter.in} ${parameter.name}`, parameter);
  }
  // Some documents do not declare the parameters of the path.
  for (const name of placeholders)
    if (!parameters.has(`path ${name}`))
      parameters.set(`path ${name}`, { ...UNDECLARED_PATH_PARAMETER, name });
  return [...parameters.values()];
}

const UNDECLARED_PATH_PARAMETER: Omit<Parameter, 'name'> = {
  in: 'path',
  required: true,
  description: undefined,
  schema: { type: 'string' },
  style: 'simple',
  explode: false,
  allowReserved: false,
  json: false,
};

const STYLES: { readonly [location in ParameterLocation]: readonly string[] } = {
  path: ['simple', 'label', 'matrix'],
  query: ['form', 'spaceDelimited', 'pipeDelimited', 'deepObject'],
  header: ['simple'],
  cookie: ['form'],
};

function parameterOf(document: OpenApiDocument, value: Json): Parameter | undefined {
  const found = resolve(document, value);
  if (!found) throw new UnsupportedDocumentError('has an invalid parameter: it must be an object');
  const { object } = found;
  const name = getOwn(object, 'name');
  const location = LOCATIONS.find((candidate) => candidate === getOwn(object, 'in'));
  if (typeof name !== 'string' || !location || !isParameterName(location, name)) {
    if (getOwn(object, 'required') !== true) return undefined;
    throw new UnsupportedDocumentError(
      'has a required parameter in an unknown location, or without a name that can be sent',
    );
  }
  const style = styleIn(location, getOwn(object, 'style'));
  const media = preferredMediaTypeOf(document, found, [/^application\/json$/]);
  const explode = getOwn(object, 'explode');
  return {
    in: location,
    name,
    required: location === 'path' || getOwn(object, 'required') === true,
    description: trimmedTextOrEmpty(getOwn(object, 'description')) || undefined,
    schema: media ? media.schema : schemaOf(found, []),
    style,
    explode: typeof explode === 'boolean' ? explode : style === 'form',
    allowReserved: location === 'query' && getOwn(object, 'allowReserved') === true,
    json: media !== undefined && /[/+]json\b/i.test(media.mediaType),
  };
}

function isParameterName(location: ParameterLocation, name: string): boolean {
  return location === 'header' ? /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/.test(name) : /^.{1,500}$/s.test(name);
}

function styleIn(location: ParameterLocation, declaredStyle: Json | undefined): string {
  const [defaultStyle = 'form', ...others] = STYLES[location];
  return others.find((style) => style === declaredStyle) ?? defaultStyle;
}

/** Media types of bodies, the most convenient ones first. */
const PREFERRED_TYPES = [
  /^application\/json\b/i,
  /^application\/[\w.+-]+\+json\b/i,
  /^application\/x-www-form-urlencoded\b/i,
  /^multipart\/form-data\b/i,
  /^text\/plain\b/i,
  /^application\/octet-stream\b/i,
  /^(?!\*)/,
];

const MAX_ENCODINGS = 100;

function bodyOf(document: OpenApiDocument, value: Json | undefined): Body | undefined {
  const found = value === undefined ? undefined : resolve(document, value);
  if (!found) return undefined;
  const { object } = found;
  if (Object.keys(objectOrEmpty(getOwn(object, 'content'))).length === 0) return undefined;
  const media = preferredMediaTypeOf(document, found, PREFERRED_TYPES);
  if (!media) throw new UnsupportedDocumentError('has a body without a usable media type');
  return {
    mediaType: media.mediaType,
    required: getOwn(object, 'required') === true,
    description: trimmedTextOrEmpty(getOwn(object, 'description')) || undefined,
    schema: media.schema,
    encoding: Object.fromEntries(
      Object.entries(objectOrEmpty(getOwn(media.object, 'encoding'))).slice(0, MAX_ENCODINGS),
    ),
  };
}

/** A media type that is valid in a header, and whose parameters need no escaping. */
const MEDIA_TYPE = /^(?:\*|[\w!#$&^.+-]+)\/[\w!#$&^.+*-]+(?:\s*;\s*[\w.-]+="?[\w .:/+-]*"?)*$/;
const MAX_MEDIA_TYPES = 50;

interface ResolvedMediaType {
  mediaType: string;
  object: JsonObject;
  schema: Json | undefined;
}

/** Returns the media type that matches the earliest of `preferredTypes`; without a match, the first media type. */
function preferredMediaTypeOf(
  document: OpenApiDocument,
  { object, pointer }: ResolvedObject,
  preferredTypes: readonly RegExp[],
): ResolvedMediaType | undefined {
  const content = objectOrEmpty(getOwn(object, 'content'));
  const types = Object.keys(content).slice(0, MAX_MEDIA_TYPES).filter(isMediaType);
  const mediaType =
    preferredTypes
      .map((preferredType) => types.find((type) => preferredType.test(type)))
      .find((type) => type !== undefined) ?? types[0];
  if (mediaType === undefined) return undefined;
  const found = resolve(document, content[mediaType]);
  if (!found) return { mediaType, object: {}, schema: undefined };
  const schema =
    found.pointer === undefined
      ? schemaOf({ object: found.object, pointer }, ['content', mediaType])
      : schemaOf(found, []);
  return { mediaType, object: found.object, schema };
}

function isMediaType(text: string): boolean {
  return text.length <= 200 && MEDIA_TYPE.test(text);
}

/** Maximum number of characters of a shared schema that each operation repeats. */
const MAX_REPEATED_CHARS = 1000;
const schemaSizes = new WeakMap<JsonObject, number>();

/** Returns the schema, or a reference to it if the schema is large and other operations may share it. */
function schemaOf({ object, pointer }: ResolvedObject, pointerTokens: readonly string[]): Json | undefined {
  const schema = getOwn(object, 'schema');
  if (pointer === undefined || !isJsonObject(schema)) return schema;
  const size = schemaSizes.get(schema) ?? JSON.stringify(schema).length;
  schemaSizes.set(schema, size);
  if (size <= MAX_REPEATED_CHARS) return schema;
  return { $ref: [pointer, ...pointerTokens.map(encodePointerToken), 'schema'].join('/') };
}

const responseTypes = new WeakMap<JsonObject, string[]>();

/** Returns the media types of successful responses, at most ten. */
function responseMediaTypes(document: OpenApiDocument, value: Json | undefined): string[] {
  const successfulResponses = Object.entries(objectOrEmpty(value)).filter(([status]) =>
    /^2|^default$/i.test(status),
  );
  const types = successfulResponses.slice(0, 10).flatMap(([, response]) => {
    try {
      const { object } = resolve(document, response) ?? {};
      if (!object) return [];
      const mediaTypes =
        responseTypes.get(object) ??
        Object.keys(objectOrEmpty(getOwn(object, 'content'))).filter(isMediaType);
      responseTypes.set(object, mediaTypes.slice(0, 10));
      return mediaTypes;
    } catch (error) {
      // An operation with an invalid description of a response can still be called.
      if (error instanceof UnsupportedDocumentError) return [];
      throw error;
    }
  });
  return [...new Set(types)].slice(0, 10);
}

/** Returns the object, or an empty one for anything else. */
export function objectOrEmpty(value: Json | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}

/** Returns the list, or an empty one for anything else. */
export function listOrEmpty(value: Json | undefined): Json[] {
  return Array.isArray(value) ? value : [];
}

/** Returns a string of at most MAX_TEXT_CHARS characters, without surrounding spaces; empty for any other value. */
export function trimmedTextOrEmpty(value: Json | undefined): string {
  return typeof value === 'string' ? value.slice(0, MAX_TEXT_CHARS).trim() : '';
}

function tagOf(value: Json): string {
  return typeof value === 'string' ? value.slice(0, 100) : '';
}

function shorten(text: string): string {
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}
