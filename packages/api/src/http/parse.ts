import type * as z from 'zod';
import type { Json } from '@heddle/core';
import { requireValueLimit } from '../admission/input-limits.ts';
import type { InputLimits } from '../admission/input-limits.ts';
import { ApiError, badRequest, isApiError, payloadTooLarge } from '../errors.ts';
import type { AnyOperation } from '../operation.ts';
import { bodyKindOf } from './body.ts';
import type { BodyKind } from './body.ts';
import { unstorablePaths } from './unstorable-paths.ts';
import type { RepeatFunction } from '../defaults.ts';

/** Time limit for receiving a JSON body; for bytes and forms, for receiving the next chunk. */
const BODY_TIMEOUT_MS = 30_000;

/** Limits of a request body, and the timer for its time limit. */
export interface ReceiveOptions {
  limits: InputLimits;
  /** Maximum number of bytes; other limits of the body may be lower. */
  maxBytes: number;
  /** Calls `callback` every `ms` milliseconds. Returns a function that stops it. */
  repeat: RepeatFunction;
}

const BOOLEANS: { [text: string]: boolean } = { true: true, '1': true, false: false, '0': false };

/** Returns path, query and body, validated against the operation's schemas. Throws 400, 408, 413, 415. */
export async function readRequest(
  operation: AnyOperation,
  request: Request,
  { params, ...options }: ReceiveOptions & { params: { [name: string]: string } },
): Promise<{ path: object; query: object; body: unknown }> {
  requireDecodable(new URL(request.url).pathname);
  const path = validate(operation.params, params, 'Invalid path parameters');
  const query = validate(operation.query, readQuery(operation, request.url), 'Invalid query parameters');
  const body = operation.body
    ? await readBody(operation, { schema: operation.body, request, options })
    : await requireNoBody(request, options);
  return { path, query, body };
}

/** Throws 400 for a path with percent-encoding that is not UTF-8: the router would pass it on unchanged. */
function requireDecodable(path: string): void {
  try {
    decodeURIComponent(path);
  } catch {
    throw badRequest('The path has invalid percent-encoding');
  }
}

/** Returns `value` as the schema parses it. Throws 400 with every issue. */
export function validate<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  fallbackMessage: string,
): z.output<Schema> {
  const result = schema.safeParse(value, { error: messageOf });
  if (!result.success) {
    const { issues } = result.error;
    throw badRequest(issues[0]?.message ?? fallbackMessage, issues.map(detailOf));
  }
  const paths = unstorablePaths(schema, result.data);
  if (paths.length === 0) return result.data;
  const issues = paths.map((path) => {
    const message = `${nameOf(path)} must not contain NUL or a lone surrogate`;
    return { code: 'custom', path, message };
  });
  throw badRequest(issues[0]?.message ?? fallbackMessage, issues);
}

/**
 * Returns a message with the name of the field, for an issue without a message in the schema; undefined keeps zod's
 * message.
 */
function messageOf(issue: z.core.$ZodRawIssue): string | undefined {
  const name = nameOf(issue.path ?? []);
  const problem = name === '' ? undefined : problemOf(issue);
  return problem && `${name} ${problem}`;
}

/** Returns what follows the name of the field in the message; undefined keeps zod's message. */
function problemOf(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case 'too_big':
      return MAXIMUM_MESSAGES[issue.origin]?.(issue.maximum) ?? 'is too large';
    case 'too_small':
      return MINIMUM_MESSAGES[issue.origin]?.(issue.minimum) ?? 'is too small';
    case 'invalid_type':
      return issue.input === undefined ? 'is required' : `must be of type ${issue.expected}`;
    case 'invalid_value':
      return issue.input === undefined ? 'is required' : undefined;
    default:
      return undefined;
  }
}

type BoundMessages = { [origin: string]: ((bound: number | bigint) => string) | undefined };

const MAXIMUM_MESSAGES: BoundMessages = {
  string: (maximum) => `must have at most ${maximum} characters`,
  array: (maximum) => `must have at most ${maximum} items`,
  number: (maximum) => `cannot exceed ${maximum}`,
  int: (maximum) => `cannot exceed ${maximum}`,
};
const MINIMUM_MESSAGES: BoundMessages = {
  string: (minimum) => (minimum === 1 ? 'must not be empty' : `must have at least ${minimum} characters`),
  number: (minimum) => `must be at least ${minimum}`,
  int: (minimum) => `must be at least ${minimum}`,
};

function nameOf(path: readonly PropertyKey[]): string {
  return path.map(String).join('.');
}

function detailOf(issue: z.core.$ZodIssue): Json {
  const { code, message, path } = issue;
  return {
    code,
    path: path.map((key) => (typeof key === 'symbol' ? String(key) : key)),
    message,
    ...('keys' in issue && { keys: issue.keys }),
  };
}

/**
 * Returns the query's values in the types of the schema. Throws 400 for a key without a value, and for a key that is
 * sent twice but is not repeatable.
 */
function readQuery(operation: AnyOperation, url: string): { [name: string]: unknown } {
  const { searchParams } = new URL(url);
  const { shape } = operation.query;
  const entries: [string, unknown][] = [];
  for (const [name, pairs] of Map.groupBy(searchParams, ([key]) => key)) {
    const values = pairs.map(([, value]) => value);
    if (values.some((value) => value === '')) throw badQuery(name, `${name} must not be empty`);
    const isRepeatable = operation.repeatableQueryKeys?.includes(name) === true;
    if (values.length > 1 && !isRepeatable) throw badQuery(name, `${name} must be sent once`);
    const schema = Object.hasOwn(shape, name) ? shape[name] : undefined;
    entries.push([
      name,
      isRepeatable ? values.flatMap((value) => value.split(',')) : parseQueryValue(schema, values[0] ?? ''),
    ]);
  }
  return Object.fromEntries(entries);
}

function badQuery(name: string, message: string): ApiError {
  return badRequest(message, [{ code: 'custom', path: [name], message }]);
}

/** Returns the number or boolean in the text if the schema expects one; else the text. */
function parseQueryValue(schema: z.core.$ZodType | undefined, text: string): unknown {
  const schemaType = schema && innermostSchema(schema)._zod.def.type;
  if (schemaType === 'number' && /^-?\d+(\.\d+)?$/.test(text)) return Number(text);
  if (schemaType === 'boolean') return BOOLEANS[text.trim().toLowerCase()] ?? text;
  return text;
}

function innermostSchema(schema: z.core.$ZodType): z.core.$ZodType {
  const { innerType } = schema._zod.def as { innerType?: z.core.$ZodType };
  return innerType ? innermostSchema(innerType) : schema;
}

async function readBody(
  operation: AnyOperation,
  { schema, request, options }: { schema: z.ZodType; request: Request; options: ReceiveOptions },
): Promise<unknown> {
  const bodyKind = withLowestLimit(bodyKindOf(schema), options);
  if (bodyKind.kind === 'bytes') return createByteStream(request, bodyKind, options);
  if (bodyKind.kind === 'form')
    return validate(schema, await readForm(request, bodyKind, options), 'Invalid request body');
  const text = await receiveText(request, { ...options, maxBytes: bodyKind.maxBytes });
  if (text === '' && operation.bodyOptional) return validate(schema, {}, 'Invalid request body');
  return parseJsonBody(request, text, { schema, limits: options.limits });
}

/** Returns the JSON body of a request as the schema parses it. Throws 400, 408, 413, 415. */
export async function readJson<Schema extends z.ZodType>(
  request: Request,
  schema: Schema,
  options: ReceiveOptions,
): Promise<z.output<Schema>> {
  return parseJsonBody(request, await receiveText(request, options), { schema, limits: options.limits });
}

/**
 * Returns the body of a call without HTTP, as the operation's schema parses it. The limits of a request's body apply.
 * Throws 400, 413.
 */
export function validateCallBody(operation: AnyOperation, value: unknown, options: ReceiveOptions): unknown {
  const { body: schema } = operation;
  requireValueLimit(value, options.limits);
  const bodyKind = withLowestLimit(schema ? bodyKindOf(schema) : { kind: 'json' }, options);
  const { maxBytes } = bodyKind;
  let body = value ?? {};
  if (bodyKind.kind === 'bytes' && value instanceof ReadableStream)
    body = limitedBody({ headers: new Headers(), body: value }, { maxBytes, repeat: options.repeat });
  else if ((bodyKind.kind === 'form' ? formSize(body) : jsonSize(body)) > maxBytes) throw payloadTooLarge();
  return schema && validate(schema, body, 'Invalid request body');
}

/** Returns the number of bytes of a value as JSON. Throws 400 for a value that is not JSON, and for deep nesting. */
function jsonSize(value: unknown): number {
  let text: string | undefined;
  try {
    text = JSON.stringify(value) as string | undefined;
  } catch {
    // A BigInt, a cycle, or nesting that overflows the stack.
  }
  if (text === undefined) throw badRequest('Request body must be valid JSON');
  requireAllowedDepth(text);
  return Buffer.byteLength(text);
}

/** Returns the number of bytes of the files and strings of a form. */
function formSize(form: object): number {
  const parts: unknown[] = Object.values(form).flat();
  return parts.reduce<number>((sum, part) => {
    if (part instanceof Blob) return sum + part.size;
    return typeof part === 'string' ? sum + Buffer.byteLength(part) : sum;
  }, 0);
}

function parseJsonBody<Schema extends z.ZodType>(
  request: Request,
  text: string,
  { schema, limits }: { schema: Schema; limits: InputLimits },
): z.output<Schema> {
  requireJson(request);
  const value = parseJsonText(text);
  requireValueLimit(value, limits);
  return validate(schema, value, 'Invalid request body');
}

/** Returns the kind with the lowest limit on bytes that applies to the body. */
function withLowestLimit(
  bodyKind: BodyKind,
  { limits, maxBytes: operationLimit }: ReceiveOptions,
): BodyKind & { maxBytes: number } {
  // The limit for all operations applies to JSON. Bytes and forms have their own limits.
  const kindLimit =
    bodyKind.kind === 'json' ? Math.min(bodyKind.maxBytes ?? limits.bytes, limits.bytes) : bodyKind.maxBytes;
  return { ...bodyKind, maxBytes: Math.min(kindLimit, operationLimit) };
}

async function requireNoBody(request: Request, options: ReceiveOptions): Promise<undefined> {
  if (request.method === 'GET' || request.method === 'HEAD') return undefined;
  const { maxBytes } = withLowestLimit({ kind: 'json' }, options);
  const text = (await receiveText(request, { ...options, maxBytes })).trim();
  if (text === '') return undefined;
  const value = parseJsonText(text);
  const keys = typeof value === 'object' && value !== null ? Object.keys(value) : [];
  if (keys.length === 0 && text.startsWith('{')) return undefined;
  const message = 'This operation takes no body';
  throw badRequest(message, [{ code: 'unrecognized_keys', path: [], message, keys }]);
}

/** Returns the value of JSON text. Throws 400 for invalid JSON, numbers out of range, and deep nesting. */
export function parseJsonText(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw badRequest('Request body must be valid JSON');
  }
  // JSON.parse reads `1e999` as Infinity, which would be stored as null.
  if (MAY_OVERFLOW.test(text) && containsInfinity(value)) {
    throw badRequest('Request body has a number that is out of range');
  }
  requireAllowedDepth(text);
  return value;
}

/** Throws 400 for deep nesting. Deeper values overflow the stack of the code that reads and writes them. */
function requireAllowedDepth(text: string): void {
  if (isDeeperThan(text, MAX_DEPTH))
    throw badRequest(`Request body is nested more than ${MAX_DEPTH} levels deep`);
}

/** Maximum depth of JSON. The engine accepts less. */
const MAX_DEPTH = 2000;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** Mask that clears the bit in which `{` differs from `[`, and `}` from `]`. */
const BRACE_BIT_MASK = ~0x20;
const OPENING_BRACKET = 0x5b;
const CLOSING_BRACKET = 0x5d;

/** Returns true if the JSON text nests objects and arrays deeper than `maxDepth`. */
function isDeeperThan(json: string, maxDepth: number): boolean {
  let depth = 0;
  for (let index = 0; index < json.length; index += 1) {
    const codeUnit = json.charCodeAt(index);
    if (codeUnit === QUOTE) index = endOfString(json, index);
    else if ((codeUnit & BRACE_BIT_MASK) === OPENING_BRACKET) depth += 1;
    else if ((codeUnit & BRACE_BIT_MASK) === CLOSING_BRACKET) depth -= 1;
    if (depth > maxDepth) return true;
  }
  return false;
}

/** Returns the index of the quote that ends the string beginning at `start`. */
function endOfString(json: string, start: number): number {
  let index = start + 1;
  while (json.charCodeAt(index) !== QUOTE) index += json.charCodeAt(index) === BACKSLASH ? 2 : 1;
  return index;
}

/** To overflow, a number needs an exponent of three digits or hundreds of digits. */
const MAY_OVERFLOW = /\d[eE]\+?\d{3}|\d{200}/;

function containsInfinity(root: unknown): boolean {
  const pending: unknown[] = [root];
  while (pending.length > 0) {
    const value = pending.pop();
    if (value === Infinity || value === -Infinity) return true;
    if (typeof value === 'object' && value !== null)
      for (const item of Object.values(value)) pending.push(item);
  }
  return false;
}

/** Returns true if `Accept` names the media type (case-insensitive) with a weight above 0. */
export function accepts(headers: Headers, type: string): boolean {
  const ranges = (headers.get('accept') ?? '').toLowerCase().split(',');
  return ranges.some((range) => {
    const [name = '', ...parameters] = range.split(';').map((part) => part.trim());
    return name === type && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
  });
}

const JSON_SUFFIX = /^application\/[\w.+-]+\+json$/;

/** Throws 415 for a body whose media type is not JSON. A missing media type and `text/plain` count as JSON. */
function requireJson(request: Request): void {
  const { type, parameters } = contentTypeOf(request);
  if (type === '' && parameters.length === 0) return;
  const isJson = ['application/json', 'text/plain'].includes(type) || JSON_SUFFIX.test(type);
  const charset = parameters.find((parameter) => parameter.startsWith('charset='))?.slice('charset='.length);
  const isUtf8 = charset === undefined || ['utf-8', 'utf8', 'us-ascii'].includes(charset.replaceAll('"', ''));
  if (isJson && isUtf8) return;
  throw new ApiError(415, 'Request body must be sent as application/json');
}

/** Returns the media type of a request and its parameters, in lower case; an empty type for a request without one. */
export function contentTypeOf(request: Pick<Request, 'headers'>): { type: string; parameters: string[] } {
  const header = request.headers.get('content-type') ?? '';
  const [type = '', ...parameters] = header
    .toLowerCase()
    .split(';')
    .map((part) => part.trim());
  return { type, parameters };
}

type Kind<Name extends BodyKind['kind']> = Extract<BodyKind, { kind: Name }>;

/**
 * Returns the bytes of a body, as a stream for the handler. Throws 415, and 413 for a declared size above the limit.
 */
function createByteStream(
  request: Request,
  { types, maxBytes }: Kind<'bytes'>,
  { repeat }: ReceiveOptions,
): ReadableStream<Uint8Array> {
  if (types.length > 0 && !types.includes(contentTypeOf(request).type))
    throw new ApiError(415, `Request body must be sent as ${types.join(' or ')}`);
  return limitedBody(request, { maxBytes, repeat });
}

/** Returns the parts of a form by name. Throws 400, 408, 413, 415. */
async function readForm(
  request: Request,
  { maxBytes }: Kind<'form'>,
  { repeat }: ReceiveOptions,
): Promise<object> {
  if (contentTypeOf(request).type !== 'multipart/form-data')
    throw new ApiError(415, 'Request body must be sent as multipart/form-data');
  const { headers } = request;
  const init = { method: 'POST', headers, body: limitedBody(request, { maxBytes, repeat }), duplex: 'half' };
  let form: FormData;
  try {
    form = await new Request(request.url, init as RequestInit).formData();
  } catch (error) {
    if (isApiError(error)) throw error;
    throw badRequest('Request body must be valid multipart/form-data');
  }
  const parts = [...Map.groupBy(form, ([name]) => name)].map(([name, pairs]) => {
    const values = pairs.map(([, value]) => value);
    return [name, values.length === 1 ? values[0] : values];
  });
  return Object.fromEntries(parts) as object;
}

/**
 * Returns the body as a stream that fails with 413 after `maxBytes`, and with 408 if nothing arrives for 30 seconds.
 * Throws 413 for a declared size above `maxBytes`.
 */
export function limitedBody(
  request: Pick<Request, 'headers' | 'body'>,
  { maxBytes, repeat }: { maxBytes: number } & Pick<ReceiveOptions, 'repeat'>,
): ReadableStream<Uint8Array> {
  if (Number(request.headers.get('content-length') ?? 0) > maxBytes) throw payloadTooLarge();
  const reader = request.body?.getReader() as ReadableStreamDefaultReader<Uint8Array> | undefined;
  let bytes = 0;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const chunk = reader ? await withBodyTimeout(() => reader.read(), repeat) : { done: true as const };
        if (chunk.done) return controller.close();
        bytes += chunk.value.byteLength;
        if (bytes > maxBytes) throw payloadTooLarge();
        controller.enqueue(chunk.value);
      },
      cancel: (reason) => reader?.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}

/** Returns the text of the body. Throws 408 when it does not arrive in time, 413 when it is too large. */
async function receiveText(
  request: Request,
  { maxBytes, repeat }: Pick<ReceiveOptions, 'maxBytes' | 'repeat'>,
): Promise<string> {
  return withBodyTimeout(() => readText(request, maxBytes), repeat);
}

/** Waits for `receive`, at most 30 seconds. Throws 408. */
export async function withBodyTimeout<T>(
  receive: () => Promise<T>,
  repeat: ReceiveOptions['repeat'],
): Promise<T> {
  const { promise: timeout, reject } = Promise.withResolvers<never>();
  const stop = repeat(BODY_TIMEOUT_MS, () => {
    reject(new ApiError(408, `Request body did not arrive within ${BODY_TIMEOUT_MS / 1000} seconds`));
  });
  try {
    return await Promise.race([receive(), timeout]);
  } finally {
    stop();
  }
}

async function readText(request: Request, maxBytes: number): Promise<string> {
  const length = request.headers.get('content-length');
  if (length !== null) {
    if (Number(length) > maxBytes) throw payloadTooLarge();
    // A connection delivers at most its Content-Length, and text() is faster than reading chunks.
    const text = await request.text();
    if (text.length > maxBytes) throw payloadTooLarge();
    return text;
  }
  if (!request.body) return '';
  const decoder = new TextDecoder();
  let bytes = 0;
  let text = '';
  for await (const chunk of request.body as ReadableStream<Uint8Array>) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) throw payloadTooLarge();
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}
