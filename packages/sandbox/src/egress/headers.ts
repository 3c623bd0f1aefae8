import { deniedError } from './error.ts';
import type { EgressRequest } from './types.ts';

export type HeaderList = [name: string, value: string][];

const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,256}$/;
const MAX_HEADERS = 200;
const MAX_HEADER_CHARS = 64 * 1024;
/** Headers that belong to one connection, or are computed by the client. */
const CONNECTION_HEADERS = new Set([
  'host',
  'connection',
  'keep-alive',
  'transfer-encoding',
  'content-length',
  'te',
  'trailer',
  'upgrade',
  'expect',
  'accept-encoding',
]);

/**
 * Returns the headers that may be sent, with names in lower case. Throws EGRESS_DENIED for too many or too long
 * headers, and for characters that could forge another header.
 */
export function filterRequestHeaders(headers: EgressRequest['headers'], host: string): HeaderList {
  const entries =
    headers === undefined
      ? []
      : Array.isArray(headers)
        ? (headers as HeaderList)
        : Object.entries(headers as Record<string, string>);
  if (entries.length > MAX_HEADERS)
    throw deniedError(`The request to ${host} has more than ${MAX_HEADERS} headers.`);
  const pairs: HeaderList = [];
  let charCount = 0;
  for (const [name, text] of entries) {
    const value = String(text);
    if (!HEADER_NAME.test(name))
      throw deniedError(`The request to ${host} has a header with the invalid name "${name.slice(0, 50)}".`);
    if (/[^\t\x20-\x7e\x80-\xff]/.test(value))
      throw deniedError(
        `The value of the header ${name} of the request to ${host} contains characters that are not allowed in headers.`,
      );
    charCount += name.length + value.length;
    const lowerCaseName = name.toLowerCase();
    if (!CONNECTION_HEADERS.has(lowerCaseName) && !lowerCaseName.startsWith('proxy-'))
      pairs.push([lowerCaseName, value.trim()]);
  }
  if (charCount > MAX_HEADER_CHARS)
    throw deniedError(`The headers of the request to ${host} have more than ${MAX_HEADER_CHARS} characters.`);
  return pairs;
}
