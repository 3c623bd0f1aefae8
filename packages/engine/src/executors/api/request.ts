import { BlockError } from '@heddle/core/blocks';
import type { BlockContext, Json } from '@heddle/core/blocks';
import { asPairs, asText, isOn, parseJson } from '../values.ts';

/** One HTTP request as an api block describes it. */
export interface ApiRequest {
  url: string;
  method: string;
  headers: [string, string][];
  body: string | undefined;
  /** A header lets the server recognise a repeated request. */
  hasKey: boolean;
}

const KEY_HEADER = 'Idempotency-Key';

const METHODS: ReadonlySet<string> = new Set(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS']);

/** The request, or undefined when the block has no URL. Throws BLOCK_CONFIG_INVALID. */
export function readRequest(context: BlockContext): ApiRequest | undefined {
  const address = unquoted(asText(context.field('url')).trim());
  if (address === '') return undefined;
  const method = asText(context.field('method')).trim().toUpperCase() || 'GET';
  if (!METHODS.has(method)) throw invalid(`The method "${method}" is not one of ${[...METHODS].join(', ')}.`);
  const headers = pairsOf(context, 'headers');
  const body = method === 'GET' || method === 'HEAD' ? undefined : bodyOf(context.field('body', 'native'));
  if (body !== undefined && body.isJson && !has(headers, 'content-type'))
    headers.push(['Content-Type', 'application/json']);
  const hasKey = addIdempotencyKey(context, headers);
  return { url: urlOf(address, pairsOf(context, 'params')), method, headers, body: body?.text, hasKey };
}

function pairsOf(context: BlockContext, name: string): [string, string][] {
  const pairs = asPairs(context.field(name));
  if (pairs === undefined) throw invalid(`The ${name} of the request are no table.`);
  return pairs;
}

/** Query parameters are added to those that the URL already has. */
function urlOf(address: string, params: readonly [string, string][]): string {
  if (!URL.canParse(address))
    throw invalid(
      `The URL "${shownUrl(address)}" is not valid: it needs a scheme and a host, as in https://example.com/path.`,
    );
  const url = new URL(address);
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw invalid(`The URL "${shownUrl(address)}" is not valid: only http and https are possible.`);
  for (const [key, value] of params) url.searchParams.append(key, value);
  return url.href;
}

/** Text stays text; what is JSON, or looks like it, is sent as JSON. */
function bodyOf(value: Json | undefined): { text: string; isJson: boolean } | undefined {
  if (value === undefined || value === null || value === '') return undefined;
  if (typeof value !== 'string') return { text: JSON.stringify(value), isJson: true };
  const parsed = /^\s*[[{]/.test(value) ? parseJson(value) : undefined;
  return parsed === undefined ? { text: value, isJson: false } : { text: value, isJson: true };
}

/** `idempotencyHeader`: true sends `Idempotency-Key`, a text names another header; equal over tries and restarts. */
function addIdempotencyKey(context: BlockContext, headers: [string, string][]): boolean {
  const asked = context.field('idempotencyHeader', 'native');
  const name = typeof asked === 'string' && asked !== 'true' && asked !== 'false' ? asked.trim() : '';
  const key = isOn(asked) ? KEY_HEADER : name;
  if (key !== '' && !has(headers, key)) headers.push([key, context.idempotencyKey]);
  return key !== '' || has(headers, KEY_HEADER);
}

function has(headers: readonly (readonly [string, string])[], name: string): boolean {
  return headers.some(([key]) => key.toLowerCase() === name.toLowerCase());
}

function unquoted(text: string): string {
  const quote = text[0];
  return text.length > 1 && (quote === '"' || quote === "'") && text.endsWith(quote)
    ? text.slice(1, -1).trim()
    : text;
}

/** The URL for messages: without credentials, without the values of its query. */
export function shownUrl(address: string): string {
  if (!URL.canParse(address))
    return (address.split('?', 1)[0] ?? '').replace(/\/\/[^/@]*@/, '//').slice(0, 200);
  const { origin, host, protocol, pathname, searchParams } = new URL(address);
  const names = [...new Set(searchParams.keys())].map((name) => `${name}=…`);
  return `${origin === 'null' ? `${protocol}//${host}` : origin}${pathname}${names.length === 0 ? '' : `?${names.join('&')}`}`.slice(
    0,
    300,
  );
}

function invalid(message: string): BlockError {
  return new BlockError('BLOCK_CONFIG_INVALID', message, { retryable: false });
}
