import type { Json, JsonObject } from '@heddle/core';
import { requireValueLimit } from '../admission/input-limits.ts';
import { ApiError, badRequest, isApiError, payloadTooLarge } from '../errors.ts';
import { contentTypeOf, withBodyTimeout, limitedBody, parseJsonText } from '../http/parse.ts';
import type { DeliveredFile } from './port.ts';
import type { RepeatFunction } from '../defaults.ts';

/** Limits of the body of a delivery. */
export interface WebhookLimits {
  /** Bytes of the body. */
  bytes: number;
  /** Values in a JSON body or a form: objects, arrays, and everything in them. */
  values: number;
  /** Parts of a multipart body. */
  parts: number;
}

export interface ParsedBody {
  payload: Json;
  files: DeliveredFile[];
}

/** Returns the bytes of the body. Throws 408, 413. */
export async function readBody(
  request: Request,
  { bytes: maxBytes }: WebhookLimits,
  repeat: RepeatFunction,
): Promise<Uint8Array> {
  const length = Number(request.headers.get('content-length') ?? Infinity);
  // A connection delivers at most its Content-Length. arrayBuffer() is faster than reading chunks, but slow if
  // `request.body` was accessed before.
  if (length <= maxBytes) {
    const bytes = new Uint8Array(await withBodyTimeout(() => request.arrayBuffer(), repeat));
    if (bytes.byteLength <= maxBytes) return bytes;
    throw payloadTooLarge();
  }
  if (!request.body) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  for await (const chunk of limitedBody(request, { maxBytes, repeat })) chunks.push(chunk);
  return Buffer.concat(chunks);
}

const FORM = 'application/x-www-form-urlencoded';
const MULTIPART = 'multipart/form-data';

/**
 * Returns the payload and the files of the body. The payload is JSON, the fields of a form, or text. Text, and a body
 * without a media type, is parsed if it is a JSON object or array. Throws 400, 413, 415.
 */
export async function parseBody(
  request: Pick<Request, 'headers'>,
  bytes: Uint8Array,
  limits: WebhookLimits,
): Promise<ParsedBody> {
  const { type } = contentTypeOf(request);
  if (bytes.byteLength === 0) return { payload: null, files: [] };
  if (type === MULTIPART) return parseMultipart(request, bytes, limits);
  if (type === FORM) return { payload: formPayload(textOf(bytes), limits), files: [] };
  if (type === 'application/json' || type.endsWith('+json'))
    return { payload: jsonPayload(textOf(bytes), limits), files: [] };
  if (type !== '' && !type.startsWith('text/') && !type.endsWith('xml'))
    throw new ApiError(415, 'The body must be JSON, a form or text');
  return { payload: textPayload(textOf(bytes), limits), files: [] };
}

function textOf(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}

function jsonPayload(text: string, limits: WebhookLimits): Json {
  const value = parseJsonText(text);
  requireValueLimit(value, limits);
  return value as Json;
}

function textPayload(text: string, limits: WebhookLimits): Json {
  if (!/^\s*[[{]/.test(text)) return text;
  try {
    return jsonPayload(text, limits);
  } catch (error) {
    if (isApiError(error) && error.status === 400) return text;
    throw error;
  }
}

/** The field in which some senders wrap their JSON in a form. */
const JSON_FIELD = 'payload';

function formPayload(text: string, limits: WebhookLimits): Json {
  // Checked before the fields are decoded: a field takes as few as two characters, so a body can have millions of them.
  const fieldCount = text.split('&', limits.values + 2).length;
  if (fieldCount > limits.values) throw payloadTooLarge(`The form has more than ${limits.values} fields`);
  const fields = fieldsOf([...new URLSearchParams(text)]);
  const { [JSON_FIELD]: json, ...otherFields } = fields;
  if (typeof json === 'string' && Object.keys(otherFields).length === 0 && /^\s*[[{]/.test(json))
    return jsonPayload(json, limits);
  return fields;
}

/** Returns the fields of a form, or the parameters of a URL. A field that is sent several times becomes an array. */
export function fieldsOf(pairs: readonly (readonly [string, string])[]): JsonObject {
  const byName = Map.groupBy(pairs, ([name]) => name);
  return Object.fromEntries(
    [...byName].map(([name, entries]) => {
      const values = entries.map(([, value]) => value);
      return [name, values.length === 1 ? (values[0] as string) : values];
    }),
  );
}

async function parseMultipart(
  { headers }: Pick<Request, 'headers'>,
  bytes: Uint8Array,
  { parts: maxParts }: WebhookLimits,
): Promise<ParsedBody> {
  const boundary = /boundary=(?:"([^"]{1,70})"|([^;\s]{1,70}))/i.exec(headers.get('content-type') ?? '');
  if (!boundary) throw badRequest('The body must be valid multipart/form-data');
  const boundaryCount = countOccurrences(bytes, `--${boundary[1] ?? boundary[2] ?? ''}`, maxParts + 2);
  if (boundaryCount > maxParts + 1) throw payloadTooLarge(`The body has more than ${maxParts} parts`);
  let form: FormData;
  try {
    const type = headers.get('content-type') ?? '';
    form = await new Response(bytes as Uint8Array<ArrayBuffer>, {
      headers: { 'Content-Type': type },
    }).formData();
  } catch {
    throw badRequest('The body must be valid multipart/form-data');
  }
  const textFields: [string, string][] = [];
  const files: DeliveredFile[] = [];
  for (const [field, value] of form) {
    if (typeof value === 'string') textFields.push([field, value]);
    else
      files.push({
        ...{ field, name: value.name, type: value.type || 'application/octet-stream' },
        bytes: new Uint8Array(await value.arrayBuffer()),
      });
  }
  return { payload: fieldsOf(textFields), files };
}

/** Counts the occurrences of the text in the bytes, up to `maximum`. */
function countOccurrences(bytes: Uint8Array, text: string, maximum: number): number {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let count = 0;
  let index = buffer.indexOf(text);
  for (; index >= 0 && count < maximum; index = buffer.indexOf(text, index + text.length)) count += 1;
  return count;
}
