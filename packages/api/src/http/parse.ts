import type * as z from 'zod';
import type { Json } from '@heddle/core';
import { ApiError, badRequest } from '../errors.ts';
import type { AnyOperation } from '../operation.ts';

/** Largest body of a request. */
export const MAX_BODY_BYTES = 10 * 1024 * 1024;

const FLAGS: { [text: string]: boolean } = { true: true, '1': true, false: false, '0': false };

/** Path, query and body as the operation declares them. Throws 400, 413, 415. */
export async function readRequest(
  operation: AnyOperation,
  request: Request,
  params: { [name: string]: string },
): Promise<{ path: object; query: object; body: unknown }> {
  const path = valid(operation.params, params, 'Invalid path parameters');
  const query = valid(operation.query, readQuery(operation, request.url), 'Invalid query parameters');
  const body = operation.body ? await readBody(operation, operation.body, request) : await noBody(request);
  return { path, query, body };
}

/** `value` as the schema says. Throws 400 with every issue. */
export function valid<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  what: string,
): z.output<Schema> {
  const read = schema.safeParse(value);
  if (read.success) return read.data;
  const { issues } = read.error;
  throw badRequest(issues[0]?.message ?? what, issues.map(shown));
}

function shown(issue: z.core.$ZodIssue): Json {
  const { code, message, path } = issue;
  return {
    code,
    path: path.map((part) => (typeof part === 'symbol' ? String(part) : part)),
    message,
    ...('keys' in issue && { keys: issue.keys }),
  };
}

/** The query's values in the types of the schema; a key that is empty or sent twice is refused. */
function readQuery(operation: AnyOperation, url: string): { [name: string]: unknown } {
  const { searchParams } = new URL(url);
  const { shape } = operation.query;
  const read: [string, unknown][] = [];
  for (const name of new Set(searchParams.keys())) {
    const values = searchParams.getAll(name);
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

/** Numbers and truth values as such where the schema wants them; else the text, for the schema to judge. */
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

async function readBody(operation: AnyOperation, schema: z.ZodType, request: Request): Promise<unknown> {
  const declared = mediaType(request);
  const text = await textOf(request);
  if (text === '' && operation.bodyOptional) return valid(schema, {}, 'Invalid request body');
  if (declared !== undefined && !isJson(declared)) {
    throw new ApiError(415, 'Request body must be sent as application/json');
  }
  return valid(schema, parsed(text), 'Invalid request body');
}

async function noBody(request: Request): Promise<undefined> {
  if (request.method === 'GET' || request.method === 'HEAD') return undefined;
  const text = (await textOf(request)).trim();
  if (text === '') return undefined;
  const value = parsed(text);
  const keys = typeof value === 'object' && value !== null ? Object.keys(value) : [];
  if (keys.length === 0 && text.startsWith('{')) return undefined;
  const message = 'This operation takes no body';
  throw badRequest(message, [{ code: 'unrecognized_keys', path: [], message, keys }]);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw badRequest('Request body must be valid JSON');
  }
}

function mediaType(request: Request): string | undefined {
  const [type = ''] = (request.headers.get('content-type') ?? '').split(';');
  return type.trim() === '' ? undefined : type.trim().toLowerCase();
}

/** What clients send that say nothing of a type counts as JSON. */
function isJson(type: string): boolean {
  return type === 'application/json' || type === 'text/plain' || /^application\/[\w.+-]+\+json$/.test(type);
}

async function textOf(request: Request): Promise<string> {
  const length = request.headers.get('content-length');
  if (length !== null) {
    if (Number(length) > MAX_BODY_BYTES) throw tooLarge();
    // A connection gives no more than it has declared, and hosts read what is of one piece faster.
    const text = await request.text();
    if (text.length > MAX_BODY_BYTES) throw tooLarge();
    return text;
  }
  if (!request.body) return '';
  const decoder = new TextDecoder();
  let bytes = 0;
  let text = '';
  for await (const chunk of request.body as ReadableStream<Uint8Array>) {
    bytes += chunk.byteLength;
    if (bytes > MAX_BODY_BYTES) throw tooLarge();
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

function tooLarge(): ApiError {
  return new ApiError(413, 'Request body is too large');
}
