import type * as z from 'zod';
import type { Json } from '@heddle/core';
import { expectFewValues } from '../admission/input-limits.ts';
import type { InputLimits } from '../admission/input-limits.ts';
import { ApiError, badRequest, isApiError, payloadTooLarge } from '../errors.ts';
import type { AnyOperation } from '../operation.ts';
import { bodyKindOf } from './body.ts';
import type { BodyKind } from './body.ts';
import { unstorableTexts } from './unstorable.ts';

/** Time limit for the whole body to arrive; for bytes and forms, for the next part to arrive. */
const BODY_TIMEOUT_MS = 30_000;

/** Limits of a request body, and its timer. */
export interface ReceiveOptions {
  limits: InputLimits;
  /** Maximum number of bytes; other limits of the body may be lower. */
  maxBytes: number;
  /** Calls `beat` every `ms` milliseconds. Returns a function that stops it. */
  every: (ms: number, beat: () => void) => () => void;
}

const FLAGS: { [text: string]: boolean } = { true: true, '1': true, false: false, '0': false };

/** Returns path, query and body as the operation declares them. Throws 400, 408, 413, 415. */
export async function readRequest(
  operation: AnyOperation,
  request: Request,
  { params, ...options }: ReceiveOptions & { params: { [name: string]: string } },
): Promise<{ path: object; query: object; body: unknown }> {
  expectDecodable(new URL(request.url).pathname);
  const path = valid(operation.params, params, 'Invalid path parameters');
  const query = valid(operation.query, readQuery(operation, request.url), 'Invalid query parameters');
  const body = operation.body
    ? await readBody(operation, { schema: operation.body, request, options })
    : await noBody(request, options);
  return { path, query, body };
}

/** Throws 400 for a path with percent-encoding that is not UTF-8: the router would pass it on unchanged. */
function expectDecodable(path: string): void {
  try {
    decodeURIComponent(path);
  } catch {
    throw badRequest('The path has invalid percent-encoding');
  }
}

/** Returns `value` as the schema parses it. Throws 400 with every issue. */
export function valid<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  otherwise: string,
): z.output<Schema> {
  const read = schema.safeParse(value, { error: messageOf });
  if (!read.success) {
    const { issues } = read.error;
    throw badRequest(issues[0]?.message ?? otherwise, issues.map(detailOf));
  }
  const unstorable = unstorableTexts(schema, read.data);
  if (unstorable.length === 0) return read.data;
  const issues = unstorable.map((path) => {
    const message = `${nameOf(path)} must not contain NUL or half of a surrogate pair`;
    return { code: 'custom', path, message };
  });
  throw badRequest(issues[0]?.message ?? otherwise, issues);
}

/** Returns a message with the name of the field, for an issue without a message in the schema; undefined keeps zod's message. */
function messageOf(issue: z.core.$ZodRawIssue): string | undefined {
  const name = nameOf(issue.path ?? []);
  const fault = name === '' ? undefined : faultOf(issue);
  return fault && `${name} ${fault}`;
}

function faultOf(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case 'too_big':
      return TOO_LARGE[issue.origin]?.(issue.maximum) ?? 'is too large';
    case 'too_small':
      return TOO_SMALL[issue.origin]?.(issue.minimum) ?? 'is too small';
    case 'invalid_type':
      return issue.input === undefined ? 'is required' : `must be of type ${issue.expected}`;
    case 'invalid_value':
      return issue.input === undefined ? 'is required' : undefined;
    default:
      return undefined;
  }
}

type Bound = { [origin: string]: ((bound: number | bigint) => string) | undefined };

const TOO_LARGE: Bound = {
  string: (most) => `must have at most ${most} characters`,
  array: (most) => `must have at most ${most} items`,
  number: (most) => `cannot exceed ${most}`,
  int: (most) => `cannot exceed ${most}`,
};
const TOO_SMALL: Bound = {
  string: (least) => (least === 1 ? 'must not be empty' : `must have at least ${least} characters`),
  number: (least) => `must be at least ${least}`,
  int: (least) => `must be at least ${least}`,
};

function nameOf(path: readonly PropertyKey[]): string {
  return path.map(String).join('.');
}

function detailOf(issue: z.core.$ZodIssue): Json {
  const { code, message, path } = issue;
  return {
    code,
    path: path.map((part) => (typeof part === 'symbol' ? String(part) : part)),
    message,
    ...('keys' in issue && { keys: issue.keys }),
  };
}

/** Returns the query's values in the types of the schema. Throws 400 for a key without a value or sent twice. */
function readQuery(operation: AnyOperation, url: string): { [name: string]: unknown } {
  const { searchParams } = new URL(url);
  const { shape } = operation.query;
  const read: [string, unknown][] = [];
  for (const [name, pairs] of Map.groupBy(searchParams, ([key]) => key)) {
    const values = pairs.map(([, value]) => value);
    if (values.some((value) => value === '')) throw badQuery(name, `${name} must not be empty`);
    const repeatable = operation.repeatable?.includes(name) === true;
    if (values.length > 1 && !repeatable) throw badQuery(name, `${name} must be sent once`);
    const schema = Object.hasOwn(shape, name) ? shape[name] : undefined;
    read.push([
      name,
      repeatable ? values.flatMap((value) => value.split(',')) : typed(schema, values[0] ?? ''),
    ]);
  }
  return Object.fromEntries(read);
}

function badQuery(name: string, message: string): ApiError {
  return badRequest(message, [{ code: 'custom', path: [name], message }]);
}

/** Returns the number or boolean in the text if the schema expects it; else the text. */
function typed(schema: z.core.$ZodType | undefined, text: string): unknown {
  const kind = schema && innermost(schema)._zod.def.type;
  if (kind === 'number' && /^-?\d+(\.\d+)?$/.test(text)) return Number(text);
  if (kind === 'boolean') return FLAGS[text.trim().toLowerCase()] ?? text;
  return text;
}

function innermost(schema: z.core.$ZodType): z.core.$ZodType {
  const { innerType } = schema._zod.def as { innerType?: z.core.$ZodType };
  return innerType ? innermost(innerType) : schema;
}

async function readBody(
  operation: AnyOperation,
  { schema, request, options }: { schema: z.ZodType; request: Request; options: ReceiveOptions },
): Promise<unknown> {
  const kind = limitedKind(bodyKindOf(schema), options);
  if (kind.kind === 'bytes') return bytesOf(request, kind, options);
  if (kind.kind === 'form')
    return valid(schema, await formOf(request, kind, options), 'Invalid request body');
  const text = await receiveText(request, { ...options, maxBytes: kind.maxBytes });
  if (text === '' && operation.bodyOptional) return valid(schema, {}, 'Invalid request body');
  return jsonOf(request, text, { schema, limits: options.limits });
}

/** Returns the JSON body of a request as the schema parses it. Throws 400, 408, 413, 415. */
export async function readJson<Schema extends z.ZodType>(
  request: Request,
  schema: Schema,
  options: ReceiveOptions,
): Promise<z.output<Schema>> {
  return jsonOf(request, await receiveText(request, options), { schema, limits: options.limits });
}

function jsonOf<Schema extends z.ZodType>(
  request: Request,
  text: string,
  { schema, limits }: { schema: Schema; limits: InputLimits },
): z.output<Schema> {
  expectJson(request);
  const value = parsed(text);
  expectFewValues(value, limits);
  return valid(schema, value, 'Invalid request body');
}

/** Returns the kind of a body with the lowest of its limits. */
function limitedKind(
  kind: BodyKind,
  { limits, maxBytes: own }: ReceiveOptions,
): BodyKind & { maxBytes: number } {
  // The limit for all operations applies to JSON. Bytes and forms have their own limits.
  const most = kind.kind === 'json' ? Math.min(kind.maxBytes ?? limits.bytes, limits.bytes) : kind.maxBytes;
  return { ...kind, maxBytes: Math.min(most, own) };
}

async function noBody(request: Request, options: ReceiveOptions): Promise<undefined> {
  if (request.method === 'GET' || request.method === 'HEAD') return undefined;
  const { maxBytes } = limitedKind({ kind: 'json' }, options);
  const text = (await receiveText(request, { ...options, maxBytes })).trim();
  if (text === '') return undefined;
  const value = parsed(text);
  const keys = typeof value === 'object' && value !== null ? Object.keys(value) : [];
  if (keys.length === 0 && text.startsWith('{')) return undefined;
  const message = 'This operation takes no body';
  throw badRequest(message, [{ code: 'unrecognized_keys', path: [], message, keys }]);
}

/** Returns the value of JSON text. Throws 400, even for numbers out of range and deep nesting. */
export function parsed(text: string): unknown {
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
  // Deeper values overflow the stack of the code that reads and writes them.
  if (isDeeper(text, MAX_DEPTH))
    throw badRequest(`Request body is nested more than ${MAX_DEPTH} levels deep`);
  return value;
}

/** Maximum depth of JSON: more than the engine accepts. */
const MAX_DEPTH = 2000;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** Without this bit, `[` equals `{`, and `]` equals `}`. */
const WITHOUT_BRACE_BIT = ~0x20;
const OPENS = 0x5b;
const CLOSES = 0x5d;

/** True when the JSON text nests objects and arrays deeper than `most`. */
function isDeeper(json: string, most: number): boolean {
  let depth = 0;
  for (let at = 0; at < json.length; at += 1) {
    const unit = json.charCodeAt(at);
    if (unit === QUOTE) at = endOfString(json, at);
    else if ((unit & WITHOUT_BRACE_BIT) === OPENS) depth += 1;
    else if ((unit & WITHOUT_BRACE_BIT) === CLOSES) depth -= 1;
    if (depth > most) return true;
  }
  return false;
}

/** Returns the index of the quote that ends the string beginning at `start`. */
function endOfString(json: string, start: number): number {
  let at = start + 1;
  while (json.charCodeAt(at) !== QUOTE) at += json.charCodeAt(at) === BACKSLASH ? 2 : 1;
  return at;
}

/** To overflow, a number needs an exponent of three digits or hundreds of digits. */
const MAY_OVERFLOW = /\d[eE]\+?\d{3}|\d{200}/;

function containsInfinity(root: unknown): boolean {
  const pending: unknown[] = [root];
  while (pending.length > 0) {
    const value = pending.pop();
    if (value === Infinity || value === -Infinity) return true;
    if (typeof value === 'object' && value !== null)
      for (const each of Object.values(value)) pending.push(each);
  }
  return false;
}

/** True when `Accept` names the media type, in any case, with a weight above 0. */
export function accepts(headers: Headers, type: string): boolean {
  const ranges = (headers.get('accept') ?? '').toLowerCase().split(',');
  return ranges.some((range) => {
    const [name = '', ...parameters] = range.split(';').map((part) => part.trim());
    return name === type && !parameters.some((each) => /^q=0(\.0*)?$/.test(each));
  });
}

const JSON_SUFFIX = /^application\/[\w.+-]+\+json$/;

/** Throws 415 for a body whose media type is not JSON. No type and `text/plain` count as JSON. */
function expectJson(request: Request): void {
  const { type, parameters } = contentTypeOf(request);
  if (type === '' && parameters.length === 0) return;
  const isJson = ['application/json', 'text/plain'].includes(type) || JSON_SUFFIX.test(type);
  const charset = parameters.find((each) => each.startsWith('charset='))?.slice('charset='.length);
  const isUtf8 = charset === undefined || ['utf-8', 'utf8', 'us-ascii'].includes(charset.replaceAll('"', ''));
  if (isJson && isUtf8) return;
  throw new ApiError(415, 'Request body must be sent as application/json');
}

/** Returns the media type of a request and its parameters, in lower case; an empty type for a request without one. */
export function contentTypeOf(request: Pick<Request, 'headers'>): { type: string; parameters: string[] } {
  const declared = request.headers.get('content-type') ?? '';
  const [type = '', ...parameters] = declared
    .toLowerCase()
    .split(';')
    .map((part) => part.trim());
  return { type, parameters };
}

type Kind<Name extends BodyKind['kind']> = Extract<BodyKind, { kind: Name }>;

/** Returns the bytes of a body, as a stream for the handler. Throws 415, and 413 for a declared size above the limit. */
function bytesOf(
  request: Request,
  { types, maxBytes }: Kind<'bytes'>,
  { every }: ReceiveOptions,
): ReadableStream<Uint8Array> {
  if (types.length > 0 && !types.includes(contentTypeOf(request).type))
    throw new ApiError(415, `Request body must be sent as ${types.join(' or ')}`);
  return limited(request, { maxBytes, every });
}

/** Returns the parts of a form by name. Throws 400, 408, 413, 415. */
async function formOf(
  request: Request,
  { maxBytes }: Kind<'form'>,
  { every }: ReceiveOptions,
): Promise<object> {
  if (contentTypeOf(request).type !== 'multipart/form-data')
    throw new ApiError(415, 'Request body must be sent as multipart/form-data');
  const { headers } = request;
  const received = { method: 'POST', headers, body: limited(request, { maxBytes, every }), duplex: 'half' };
  let form: FormData;
  try {
    form = await new Request(request.url, received as RequestInit).formData();
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

/** Returns the body as a stream that fails with 413 after `maxBytes`, and with 408 if nothing arrives for 30 seconds. */
export function limited(
  request: Request,
  { maxBytes, every }: { maxBytes: number } & Pick<ReceiveOptions, 'every'>,
): ReadableStream<Uint8Array> {
  if (Number(request.headers.get('content-length') ?? 0) > maxBytes) throw payloadTooLarge();
  const reader = request.body?.getReader() as ReadableStreamDefaultReader<Uint8Array> | undefined;
  let bytes = 0;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const chunk = reader ? await inTime(() => reader.read(), every) : { done: true as const };
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
  { maxBytes, every }: Pick<ReceiveOptions, 'maxBytes' | 'every'>,
): Promise<string> {
  return inTime(() => textOf(request, maxBytes), every);
}

/** Waits for `receive`, at most 30 seconds. Throws 408. */
export async function inTime<T>(receive: () => Promise<T>, every: ReceiveOptions['every']): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const stop = every(BODY_TIMEOUT_MS, () => {
    reject(new ApiError(408, `Request body did not arrive within ${BODY_TIMEOUT_MS / 1000} seconds`));
  });
  try {
    return await Promise.race([receive(), late]);
  } finally {
    stop();
  }
}

async function textOf(request: Request, mostBytes: number): Promise<string> {
  const length = request.headers.get('content-length');
  if (length !== null) {
    if (Number(length) > mostBytes) throw payloadTooLarge();
    // A connection delivers at most its Content-Length, and text() is faster than chunks.
    const text = await request.text();
    if (text.length > mostBytes) throw payloadTooLarge();
    return text;
  }
  if (!request.body) return '';
  const decoder = new TextDecoder();
  let bytes = 0;
  let text = '';
  for await (const chunk of request.body as ReadableStream<Uint8Array>) {
    bytes += chunk.byteLength;
    if (bytes > mostBytes) throw payloadTooLarge();
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}
