import { parseJson } from '@heddle/core/fields';
import type { JsonObject } from '@heddle/core/blocks';
import type { EgressResponse } from '@heddle/sandbox/egress';

const BINARY_TYPE =
  /^(?:image|audio|video|font)\/|^application\/(?:octet-stream|pdf|zip|gzip|x-tar|vnd\.(?!.*(?:json|xml)))/;

/**
 * Returns the output `{data, status, headers}`: JSON is parsed, text is decoded by its charset, binary content becomes
 * base64. Header names are in lower case; values of repeated headers are joined with a comma.
 */
export function apiOutput(response: EgressResponse): JsonObject {
  const headers = joinHeaders(response.headers);
  return { data: dataOf(response.body, headers['content-type'] ?? ''), status: response.status, headers };
}

function dataOf(body: Uint8Array, contentType: string): JsonObject[string] {
  if (body.length === 0) return null;
  const type = contentType.toLowerCase();
  if (BINARY_TYPE.test(type)) return Buffer.from(body).toString('base64');
  const text = decode(body, /charset="?([^\s;"]+)/.exec(type)?.[1] ?? 'utf-8');
  return /[/+]json\b/.test(type) || type === '' ? (parseJson(text) ?? text) : text;
}

function decode(body: Uint8Array, charset: string): string {
  return new TextDecoder(isCharset(charset) ? charset : 'utf-8').decode(body);
}

function isCharset(label: string): boolean {
  try {
    return new TextDecoder(label).encoding !== '';
  } catch {
    return false;
  }
}

function joinHeaders(pairs: readonly (readonly [string, string])[]): { [name: string]: string } {
  const headers = new Map<string, string>();
  for (const [name, value] of pairs) {
    const existingValue = headers.get(name);
    headers.set(name, existingValue === undefined ? value : `${existingValue}, ${value}`);
  }
  return Object.fromEntries(headers);
}
