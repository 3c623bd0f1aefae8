import { BlockError, getOwn } from '@heddle/core/blocks';
import type { Json, JsonObject } from '@heddle/core/blocks';
import { itemsOf, nextCursor, valueAt } from './response.ts';
import type { ServiceTool } from './file.ts';
import type { ServiceResponse } from './send.ts';

type Paging = NonNullable<ServiceTool['paging']>;

/** How the next page is requested: with another value of an argument, or at the URL that the previous page names. */
export type NextPageRequest = { argument: string; value: Json } | { url: string };

/** Maximum number of bytes of the items of all pages of a call, as JSON. */
const MAX_ITEMS_BYTES = 8 * 2 ** 20;

/** The first page, and a function that requests another page. */
interface PageSource {
  firstPage: ServiceResponse;
  send: (this: void, next: NextPageRequest) => Promise<ServiceResponse>;
}

/**
 * Returns the items of all pages, up to the page limit of the tool or 8 MiB, and the data of the last page.
 *
 * Throws TOOL_PAGES_REPEATED if a page leads back to an earlier page, and the errors of `send`.
 */
export async function collectPages(
  { id, paging }: { id: string; paging: Paging },
  { firstPage, send }: PageSource,
): Promise<{ data: Json; items: Json[] }> {
  const items = itemsOf(paging, firstPage.data);
  const requestedKeys = new Set<string>();
  let response = firstPage;
  let previousText = JSON.stringify(items);
  let byteCount = Buffer.byteLength(previousText);
  for (let page = 1; page < paging.pages && byteCount < MAX_ITEMS_BYTES; page++) {
    const next = nextPageRequest(paging, { response, pageCount: page, itemCount: items.length });
    if (next === undefined) break;
    const requestKey = JSON.stringify(next);
    if (requestedKeys.has(requestKey))
      throw repeatedPagesError(id, page, 'leads to a page that was read before');
    requestedKeys.add(requestKey);
    response = await send(next);
    const nextItems = itemsOf(paging, response.data);
    const text = JSON.stringify(nextItems);
    // A service that ignores the argument always returns the first page.
    if (paging.by !== undefined && nextItems.length > 0 && text === previousText)
      throw repeatedPagesError(id, page, 'is followed by the same page again');
    previousText = text;
    byteCount += Buffer.byteLength(text);
    items.push(...nextItems);
  }
  return { data: response.data, items };
}

function repeatedPagesError(id: string, page: number, problem: string): BlockError {
  return new BlockError(
    'TOOL_PAGES_REPEATED',
    `The list of the tool "${id}" does not end: page ${page} ${problem}.`,
    { retryable: false, details: { page } },
  );
}

interface Position {
  response: ServiceResponse;
  /** Number of pages that were read. */
  pageCount: number;
  /** Number of items that were read. */
  itemCount: number;
}

function nextPageRequest(paging: Paging, position: Position): NextPageRequest | undefined {
  const { data, headers } = position.response;
  if (paging.by === 'link') {
    const url = nextLink(headers['link'] ?? '');
    return url === undefined ? undefined : { url };
  }
  if (paging.by === undefined) {
    const value = nextCursor(paging, data);
    return value === undefined ? undefined : { argument: paging.argument, value };
  }
  return isLastPage(paging, position)
    ? undefined
    : { argument: paging.argument, value: nextNumber(paging, position) };
}

type CountedPaging = Extract<Paging, { by: 'page' | 'offset' }>;

function isLastPage(paging: CountedPaging, { response: { data }, itemCount }: Position): boolean {
  const { more, total } = paging;
  if (itemsOf(paging, data).length === 0) return true;
  if (more !== undefined && valueAt(data, more) !== true) return true;
  const totalCount = total === undefined ? undefined : valueAt(data, total);
  return typeof totalCount === 'number' && itemCount >= totalCount;
}

function nextNumber({ by, first }: CountedPaging, { pageCount, itemCount }: Position): number {
  return by === 'page' ? (first ?? 1) + pageCount : (first ?? 0) + itemCount;
}

/** Returns the URL of the next page in a Link header (RFC 8288); undefined if there is none. */
function nextLink(header: string): string | undefined {
  for (const [, url = '', parameters = ''] of header.slice(0, 10_000).matchAll(/<([^<>]*)>([^<>]*)/g))
    if (/;\s*rel\s*=\s*(?:next\b|"(?:[^"]*\s)?next[\s"])/i.test(parameters)) return url;
  return undefined;
}

/** True if the tool has no pages, or the caller requests a single page. */
export function isSinglePageCall({ paging }: ServiceTool, args: JsonObject): boolean {
  return !paging || (paging.argument !== undefined && getOwn(args, paging.argument) !== undefined);
}

/**
 * Returns the absolute URL of the next page, from a link on the page at `pageUrl`. It must be under the base URL of the
 * service: another origin, or another part of a host that several services share, must not get the credential. Throws
 * HTTP_FAILED.
 */
export function resolveNextPageUrl(
  url: string,
  { pageUrl, baseUrl, id }: { pageUrl: string; baseUrl: string; id: string },
): string {
  const next = URL.canParse(url, pageUrl) ? new URL(url, pageUrl) : undefined;
  const base = new URL(baseUrl.endsWith('/') ? baseUrl : `${baseUrl}/`);
  if (next?.origin === base.origin && next.pathname.startsWith(base.pathname) && next.username === '')
    return next.href;
  const target = next ? next.origin : 'an invalid URL';
  throw new BlockError(
    'HTTP_FAILED',
    `The list of the tool "${id}" continues at ${target.slice(0, 200)}, which is not under the base URL of the service, ${base.origin}${base.pathname}.`,
    { retryable: false },
  );
}
