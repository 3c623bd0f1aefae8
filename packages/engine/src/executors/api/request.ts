import { BlockError, fieldSchemas } from '@heddle/core/blocks';
import type { BlockContext } from '@heddle/core/blocks';
import { isJsonText, parseJson } from '@heddle/core/fields';
import { checkHeaders } from '../header-rules.ts';
import type { EngineContext } from '../services.ts';
import { asPairs, asText, isOn } from '../values.ts';

/** The HTTP request of an api block. */
export interface ApiRequest {
  url: string;
  method: string;
  headers: [string, string][];
  body: string | undefined;
  /** True if the request has an idempotency key. */
  hasIdempotencyKey: boolean;
}

const IDEMPOTENCY_HEADER = 'Idempotency-Key';
/** Lets a server that runs workflows detect infinite recursion. */
const CALL_CHAIN_HEADER = 'X-Sim-Via';

/** Returns the request; undefined if the block has no URL. Throws BLOCK_CONFIG_INVALID. */
export function readRequest(context: EngineContext): ApiRequest | undefined {
  const authoredUrl = asText(context.field('url'));
  if (authoredUrl === '') return undefined;
  const method = methodOf(asText(context.field('method')).trim());
  const headers = pairsOf(context, 'headers');
  const body = method === 'GET' || method === 'HEAD' ? undefined : bodyOf(context);
  if (body !== undefined && body.isJson && !hasHeader(headers, 'content-type'))
    headers.push(['Content-Type', 'application/json']);
  const hasIdempotencyKey = addIdempotencyKey(context, headers);
  checkHeaders(headers, 'request');
  const sentHeaders = withCallChain(headers, context.services.run.callChain);
  const url = urlOf(authoredUrl, pairsOf(context, 'params'));
  return { url, method, headers: sentHeaders, body: body?.text, hasIdempotencyKey };
}

function methodOf(text: string): string {
  const method = fieldSchemas.httpMethod.safeParse(text || 'GET');
  if (method.success) return method.data;
  throw configInvalidError(
    `The method "${text.toUpperCase()}" is not ${method.error.issues[0]?.message ?? 'known'}.`,
  );
}

/** Returns the pairs of the table in the field `name`. Throws BLOCK_CONFIG_INVALID. */
export function pairsOf(context: BlockContext, name: string): [string, string][] {
  const pairs = asPairs(context.field(name));
  if (pairs === undefined) throw configInvalidError(`The ${name} of the request are not a table.`);
  return pairs;
}

/** Returns the URL with these query parameters added. Throws BLOCK_CONFIG_INVALID. */
export function urlOf(text: string, params: readonly [string, string][]): string {
  if (!URL.canParse(text))
    throw configInvalidError(
      `The URL "${redactUrl(text)}" is not valid: it needs a scheme and a host, as in https://example.com/path.`,
    );
  const url = new URL(text);
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw configInvalidError(`The URL "${redactUrl(text)}" is not valid: only http and https are supported.`);
  for (const [key, value] of params) url.searchParams.append(key, value);
  return url.href;
}

/**
 * Returns the text of the body. `isJson`: true for values other than strings, and for authored text that is JSON.
 */
export function bodyOf(context: BlockContext): { text: string; isJson: boolean } | undefined {
  const value = context.field('body');
  if (value === undefined || value === null || value === '') return undefined;
  if (typeof value !== 'string') return { text: JSON.stringify(value), isJson: true };
  const template = context.block.params['body'];
  const isJson = /^\s*[[{]/.test(value) && parseJson(value) !== undefined && template !== undefined;
  return { text: value, isJson: isJson && isJsonText(template) };
}

/**
 * Adds the header that the field `idempotencyHeader` selects: true selects `Idempotency-Key`, a string names another
 * header. The key is the same for all attempts and after restarts. Returns true if the request has a key.
 */
function addIdempotencyKey(context: BlockContext, headers: [string, string][]): boolean {
  const setting = context.field('idempotencyHeader', 'native');
  const headerName =
    typeof setting === 'string' && setting !== 'true' && setting !== 'false' ? setting.trim() : '';
  const name = isOn(setting) ? IDEMPOTENCY_HEADER : headerName;
  if (name !== '' && !hasHeader(headers, name)) headers.push([name, context.idempotencyKey]);
  return name !== '' || hasHeader(headers, IDEMPOTENCY_HEADER);
}

/** Adds the call chain. Replaces an authored header, so that it cannot shorten the call chain. */
export function withCallChain(
  headers: readonly [string, string][],
  callChain: readonly string[],
): [string, string][] {
  if (callChain.length === 0) return [...headers];
  const otherHeaders = headers.filter(([name]) => name.toLowerCase() !== CALL_CHAIN_HEADER.toLowerCase());
  return [...otherHeaders, [CALL_CHAIN_HEADER, callChain.join(',')]];
}

/** Returns true if the headers contain the name. Case does not matter. */
export function hasHeader(headers: readonly (readonly [string, string])[], name: string): boolean {
  return headers.some(([key]) => key.toLowerCase() === name.toLowerCase());
}

/** Returns the URL for messages: without credentials and values of query parameters. */
export function redactUrl(text: string): string {
  if (!URL.canParse(text)) return (text.split('?', 1)[0] ?? '').replace(/\/\/[^/@]*@/, '//').slice(0, 200);
  const { origin, host, protocol, pathname, searchParams } = new URL(text);
  const names = [...new Set(searchParams.keys())].map((name) => `${name}=…`);
  return `${origin === 'null' ? `${protocol}//${host}` : origin}${pathname}${names.length === 0 ? '' : `?${names.join('&')}`}`.slice(
    0,
    300,
  );
}

/** Returns the error BLOCK_CONFIG_INVALID with this message. */
export function configInvalidError(message: string): BlockError {
  return new BlockError('BLOCK_CONFIG_INVALID', message, { retryable: false });
}
