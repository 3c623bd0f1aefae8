import { isJsonObject, getOwn } from '@heddle/core/blocks';
import type { Json, JsonObject } from '@heddle/core/blocks';
import { sanitizeFileName, filesIn } from '@heddle/core/files';
import type { FileRecord } from '@heddle/core/files';
import type { ServiceBody, ServiceParameter, ServiceTool } from './file.ts';
import { locationOf } from './security.ts';
import { ArgumentError, cookieText, percentEncode, percentEncodeExceptReserved, headerText } from './wire.ts';
import { pathText, plainText, queryPairs, queryText } from './wire.ts';

/** A request to a service. */
export interface ServiceRequest {
  method: string;
  /** Includes the query, with a key in it if the service requires that. */
  url: string;
  /** The URL for messages: without the query and without a key in the path. */
  displayUrl: string;
  /** API keys in the path, plain and encoded. They are removed from errors and redirects, which can repeat the path. */
  pathSecrets: string[];
  headers: [name: string, value: string][];
  body: string | Uint8Array | null;
  /** Default: redirects are followed. */
  redirect?: 'manual';
}

/** The base URL and credential of a request, and access to files. */
export interface RequestContext {
  baseUrl: string;
  /** Undefined: the request has no credential. */
  secret: string | undefined;
  /** Returns the content of a run file as Base64; undefined if the run has no such file. */
  readFile(record: FileRecord): Promise<string | undefined>;
}

/**
 * Returns the request of a tool with these arguments. Whatever the arguments are, the request goes to the base URL of
 * the service and the path of the tool, whose placeholders are filled, and has only the headers and credentials that
 * the tool describes.
 *
 * Throws an ArgumentError for arguments that cannot be sent.
 */
export async function requestOf(
  tool: ServiceTool,
  args: JsonObject,
  context: RequestContext,
): Promise<ServiceRequest> {
  const credential = credentialParts(tool, context.secret);
  const parameters = (tool.parameters ?? []).flatMap((parameter) => {
    const value = getOwn(args, parameter.argument);
    return value === undefined || (value === null && parameter.in !== 'path') ? [] : [{ parameter, value }];
  });
  const path = fillPath(tool, args, credential.path);
  const query = [
    ...Object.entries(tool.query ?? {}).map(
      ([name, value]) => `${percentEncode(name)}=${percentEncode(value)}`,
    ),
    ...parameters
      .filter(({ parameter }) => parameter.in === 'query')
      .map(({ parameter, value }) => queryOf(tool, parameter, value)),
    ...credential.query,
  ].filter((text) => text !== '');
  const { type, body } = await bodyOf(tool, args, context);
  const headers: ServiceRequest['headers'] = [['accept', acceptOf(tool)]];
  for (const [name, value] of Object.entries(tool.headers ?? {})) headers.push([name.toLowerCase(), value]);
  for (const { parameter, value } of parameters) {
    if (parameter.in !== 'header') continue;
    const text = withArgumentName(parameter.argument, () =>
      headerText(wireValue(parameter, value), parameter),
    );
    headers.push([parameter.name.toLowerCase(), text]);
  }
  if (type !== undefined) headers.push(['content-type', type]);
  const cookies = parameters
    .filter(({ parameter }) => parameter.in === 'cookie')
    .map(
      ({ parameter, value }) => `${percentEncode(parameter.name)}=${cookieText(wireValue(parameter, value))}`,
    );
  const allCookies = [...cookies, ...credential.cookies].join('; ');
  if (allCookies !== '') headers.push(['cookie', allCookies]);
  headers.push(...credential.headers);
  const base = context.baseUrl.replace(/\/+$/, '');
  const url = `${base}${path}${query.length > 0 ? `?${query.join('&')}` : ''}`;
  const pathSecrets = Object.values(credential.path).flatMap((encodedKey) => {
    const secret = decodeURIComponent(encodedKey);
    return [encodedKey, secret, percentEncode(secret)];
  });
  const placeholders = Object.keys(credential.path).map((name): [string, string] => [name, `{${name}}`]);
  const visiblePath =
    placeholders.length === 0 ? path : fillPath(tool, args, Object.fromEntries(placeholders));
  const displayUrl = `${base}${visiblePath}`.slice(0, 300);
  return { method: tool.method, url, displayUrl, pathSecrets, headers, body };
}

/** Runs `work`. Adds the name of the argument to its errors. */
function withArgumentName<T>(argument: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw error instanceof ArgumentError ? new ArgumentError(`"${argument}" ${error.message}`) : error;
  }
}

/** Returns the value to send: the JSON text of the value if the parameter is sent as JSON. */
function wireValue({ json }: ServiceParameter, value: Json): Json {
  return json === true ? JSON.stringify(value) : value;
}

/** Returns the path with the arguments and the keys in place of its placeholders. */
function fillPath(
  { path, parameters = [] }: ServiceTool,
  args: JsonObject,
  keys: CredentialParts['path'],
): string {
  const parametersByName = new Map(
    parameters.filter((parameter) => parameter.in === 'path').map((parameter) => [parameter.name, parameter]),
  );
  const filledPath = path.replaceAll(/\{([^{}]+)\}/g, (whole, name: string) => {
    const parameter = parametersByName.get(name);
    if (!parameter) return (Object.hasOwn(keys, name) ? keys[name] : undefined) ?? percentEncode(whole);
    const value = getOwn(args, parameter.argument);
    if (value === undefined || value === null)
      throw new ArgumentError(`"${parameter.argument}", which the path needs, is missing`);
    return withArgumentName(parameter.argument, () => pathText(name, wireValue(parameter, value), parameter));
  });
  // Only segments with a placeholder are checked for `.` and `..`: the tool's own path may contain such segments.
  const templateSegments = path.split('/');
  for (const [index, segment] of filledPath.split('/').entries()) {
    const hasPlaceholder = templateSegments[index]?.includes('{') ?? false;
    if (hasPlaceholder && /^\.\.?$/.test(segment.replaceAll(/%2e/gi, '.')))
      throw new ArgumentError(`the path gets a segment "${segment}", which would lead to another path`);
  }
  return filledPath;
}

function queryOf(tool: ServiceTool, parameter: ServiceParameter, value: Json): string {
  const pairs = withArgumentName(parameter.argument, () =>
    queryPairs(parameter.name, wireValue(parameter, value), parameter),
  );
  const isExploded =
    parameter.explode && parameter.style === 'form' && isJsonObject(value) && !parameter.json;
  const conflictingPair = isExploded ? pairs.find(({ name }) => isQueryName(tool, name)) : undefined;
  if (conflictingPair)
    throw new ArgumentError(
      `"${parameter.argument}" has a member "${conflictingPair.name}", which is another parameter`,
    );
  return queryText(pairs, parameter.reserved === true ? percentEncodeExceptReserved : percentEncode);
}

/** True if a parameter or an API key of the query has this name. An exploded object must not overwrite it. */
function isQueryName({ parameters = [], credential }: ServiceTool, name: string): boolean {
  const keys = Object.values(credential?.schemes ?? {}).flatMap((scheme) =>
    scheme.type === 'key' ? [locationOf(scheme)] : [],
  );
  return [...parameters.map((parameter) => locationOf(parameter)), ...keys].includes(
    locationOf({ in: 'query', name }),
  );
}

interface CredentialParts {
  headers: [string, string][];
  query: string[];
  cookies: string[];
  /** Encoded keys by their placeholders in the path. */
  path: { [name: string]: string };
}

function credentialParts({ credential }: ServiceTool, secret: string | undefined): CredentialParts {
  const parts: CredentialParts = { headers: [], query: [], cookies: [], path: {} };
  if (!credential || secret === undefined) return parts;
  const schemes = Object.entries(credential.schemes);
  for (const [name, scheme] of schemes) {
    const value = schemes.length === 1 ? secret : keyIn(secret, name, schemes.length);
    if (scheme.type === 'bearer')
      parts.headers.push(['authorization', bearerAuthorization(value, scheme.bare)]);
    else if (scheme.type === 'basic')
      parts.headers.push(['authorization', `Basic ${basicCredentials(value)}`]);
    else if (scheme.in === 'header') parts.headers.push([scheme.name.toLowerCase(), value]);
    else if (scheme.in === 'path') parts.path[scheme.name] = pathKeyOf(value);
    else if (scheme.in === 'query') parts.query.push(`${percentEncode(scheme.name)}=${percentEncode(value)}`);
    else parts.cookies.push(`${percentEncode(scheme.name)}=${percentEncode(value)}`);
    if (scheme.type === 'key' && scheme.bearer)
      parts.headers.push(['authorization', bearerAuthorization(value, undefined)]);
  }
  return parts;
}

/** Returns a key for a path, encoded except for colons, which have no meaning in a path that begins with `/`. */
function pathKeyOf(value: string): string {
  if (/^\.{0,2}$/.test(value.trim())) throw new ArgumentError('the credential cannot be part of a path');
  return percentEncode(value).replaceAll('%3A', ':');
}

function bearerAuthorization(value: string, barePrefix: string | undefined): string {
  return barePrefix !== undefined && value.startsWith(barePrefix) ? value : `Bearer ${value}`;
}

/**
 * Returns the credentials of basic authentication. A key alone becomes a user without a password, as many services
 * expect.
 */
function basicCredentials(value: string): string {
  return Buffer.from(value.includes(':') ? value : `${value}:`).toString('base64');
}

/** Returns the key of one scheme from a credential with several keys, which is a JSON object. */
function keyIn(secret: string, name: string, count: number): string {
  let keys: Json = null;
  try {
    keys = JSON.parse(secret) as Json;
  } catch {
    // The error is thrown below.
  }
  const value = isJsonObject(keys) ? getOwn(keys, name) : undefined;
  if (typeof value === 'string' && value !== '') return value;
  throw new ArgumentError(
    `the credential must be a JSON object with ${count} strings, one of them "${name}"`,
  );
}

function acceptOf({ accept = [] }: ServiceTool): string {
  const jsonTypes = accept.filter((type) => /[/+]json\b/i.test(type));
  const types = jsonTypes.length > 0 ? jsonTypes : accept;
  return types.length === 0 ? '*/*' : [...types, ...(types.includes('*/*') ? [] : ['*/*;q=0.1'])].join(', ');
}

async function bodyOf(
  { body, json }: ServiceTool,
  args: JsonObject,
  context: RequestContext,
): Promise<{ type?: string; body: ServiceRequest['body'] }> {
  if (json !== undefined)
    return { type: 'application/json', body: JSON.stringify(fillJson(json, args) ?? null) };
  const value = body && getOwn(args, body.argument);
  if (!body || value === undefined) return { body: null };
  const { type, mediaType, argument } = body;
  if (type === 'json') return { type: mediaType, body: JSON.stringify(value) };
  if (type === 'text') return { type: mediaType, body: plainText(value) };
  if (type === 'binary') {
    const file = await fileOf(argument, value, context);
    return { type: mediaType.includes('*') ? file.type : mediaType, body: file.bytes };
  }
  if (!isJsonObject(value)) throw new ArgumentError(`"${argument}" is not an object`);
  if (type === 'form')
    return { type: mediaType, body: withArgumentName(argument, () => formText(body, value)) };
  return multipartBody(body, value, context);
}

/** Returns a JSON body with the arguments filled in, without those that have no value. Undefined if nothing is left. */
function fillJson(value: Json, args: JsonObject): Json | undefined {
  if (Array.isArray(value)) {
    const items = value.map((item) => fillJson(item, args)).filter((item) => item !== undefined);
    return items.length === 0 && value.length > 0 ? undefined : items;
  }
  if (!isJsonObject(value)) return value;
  const name = getOwn(value, '$argument');
  if (typeof name === 'string') return getOwn(args, name);
  const members = Object.entries(value).flatMap(([key, member]) => {
    const filledMember = fillJson(member, args);
    return filledMember === undefined ? [] : [[key, filledMember] as const];
  });
  // An object whose members all have no value is omitted.
  return members.length === 0 && Object.keys(value).length > 0 ? undefined : Object.fromEntries(members);
}

type Field = NonNullable<ServiceBody['fields']>[string];

function fieldOf({ fields = {} }: ServiceBody, name: string): Field {
  return Object.hasOwn(fields, name) ? (fields[name] ?? {}) : {};
}

/**
 * Returns the text of a form. Fields with a style are sent like parameters of a query. Without a style, a list of
 * scalars becomes one pair per item, other lists and objects become JSON, and scalars become text.
 */
function formText(body: ServiceBody, value: JsonObject): string {
  const pairs = Object.entries(value).flatMap(([name, item]) => {
    if (item === null) return [];
    const { style, explode, mediaType } = fieldOf(body, name);
    const isJson = mediaType !== undefined && /[/+]json\b/i.test(mediaType);
    if (isJson) return [{ name, text: JSON.stringify(item), isEncoded: false }];
    if (style !== undefined || explode !== undefined) {
      const usedStyle = style ?? 'form';
      return queryPairs(name, item, { style: usedStyle, explode: explode ?? usedStyle === 'form' });
    }
    if (Array.isArray(item) && item.every((element) => typeof element !== 'object'))
      return queryPairs(name, item, { style: 'form', explode: true });
    return [{ name, text: plainText(item), isEncoded: false }];
  });
  return queryText(pairs).replaceAll('%20', '+');
}

async function multipartBody(
  body: ServiceBody,
  value: JsonObject,
  context: RequestContext,
): Promise<{ type: string; body: Uint8Array }> {
  const form = new FormData();
  for (const [name, item] of Object.entries(value)) {
    if (item === null) continue;
    const field = fieldOf(body, name);
    for (const element of Array.isArray(item) ? item : [item]) {
      if (field.file === true || fileRecordOf(element)) {
        const file = await fileOf(name, element, context);
        form.append(name, new Blob([file.bytes], { type: field.mediaType ?? file.type }), file.name);
      } else if (field.mediaType !== undefined)
        form.append(name, new Blob([plainText(element)], { type: field.mediaType }));
      else form.append(name, plainText(element).toWellFormed());
    }
  }
  const response = new Response(form);
  const type = response.headers.get('content-type') ?? body.mediaType;
  return { type, body: new Uint8Array(await response.arrayBuffer()) };
}

interface FileContent {
  name: string;
  type: string;
  bytes: Uint8Array<ArrayBuffer>;
}

/** Returns the value if it is itself a file of a run. */
function fileRecordOf(value: Json): FileRecord | undefined {
  const [first] = isJsonObject(value) ? filesIn(value) : [];
  return first && (first as unknown) === value ? first : undefined;
}

/** Returns a run file, Base64 content, or a string as a file. Throws an ArgumentError. */
export async function fileOf(
  argument: string,
  value: Json,
  context: Pick<RequestContext, 'readFile'>,
): Promise<FileContent> {
  if (typeof value === 'string')
    return { name: 'file.txt', type: 'text/plain', bytes: new TextEncoder().encode(value) };
  if (!isJsonObject(value))
    throw new ArgumentError(`"${argument}" is not a file: pass a string or an object`);
  const record = fileRecordOf(value);
  const base64 = record ? await context.readFile(record) : getOwn(value, 'base64');
  if (typeof base64 !== 'string')
    throw new ArgumentError(`"${argument}" is not a file of this run, and has no "base64"`);
  const [name, type] = [getOwn(value, 'name'), getOwn(value, 'type')];
  return {
    name: typeof name === 'string' ? sanitizeFileName(name) : 'file',
    type: typeof type === 'string' && /^[\w.+-]+\/[\w.+-]+$/.test(type) ? type : 'application/octet-stream',
    bytes: new Uint8Array(Buffer.from(base64, 'base64')),
  };
}
