import type { TriggerInfo } from '@heddle/core/drafts';
import type { JsonObject } from '@heddle/core/blocks';
import * as z from 'zod';
import { encodingFromByteOrderMark } from '../../byte-order-mark.ts';
import { feedConfigOf, feedError, feedFields } from '../feed.ts';
import type { FeedContext, FeedItem, FeedPoll, FeedTrigger } from '@heddle/engine/triggers';
import type { FeedConfig } from '../feed.ts';
import { flowControlFields } from '../flow-control.ts';
import { headerOf, sendPollRequest, statusError } from '../http.ts';
import { withTriggerConfig, problemsOf } from '../read-fields.ts';
import { parseFeed } from './parse.ts';
import type { ParsedFeed, ParsedItem } from './parse.ts';

const MAX_BYTES = 5 * 2 ** 20;
/** Longer validators (`ETag`, `Last-Modified`) are not stored. */
const MAX_VALIDATOR_CHARS = 1000;
const MAX_SNIPPET_CHARS = 500;
const MAX_URL_CHARS = 4096;
const ACCEPT = 'application/atom+xml, application/rss+xml, application/xml;q=0.9, text/xml;q=0.8, */*;q=0.1';
// The errors of fields complete the message `is not …`.
const URL_ERROR = 'the URL of a feed, with http:// or https://';

const rssFields = z.object({
  feedUrl: z
    .string({ error: URL_ERROR })
    .trim()
    .max(MAX_URL_CHARS, { error: URL_ERROR })
    .regex(/^(?:https?:\/\/|\{\{)/i, { error: URL_ERROR })
    .describe('The URL of the feed, RSS or Atom. May contain {{NAME}}.'),
  ...feedFields,
});

interface RssConfig extends FeedConfig {
  url: string;
}

const configOf = (config: JsonObject): RssConfig => config as unknown as RssConfig;

function parseRssConfig(block: JsonObject): ReturnType<TriggerInfo['parseConfig']> {
  const parsed = rssFields.safeParse(withTriggerConfig(block));
  if (!parsed.success) return { problems: problemsOf(parsed.error) };
  return { config: { url: parsed.data.feedUrl, ...feedConfigOf(parsed.data) } };
}

/** Starts runs for new items of a feed. */
export const rss: FeedTrigger = {
  kind: 'feed',
  type: 'rss',
  parseConfig: parseRssConfig,
  intervalOf: (config) => configOf(config).everyMs,
  sourceOf: (config) => configOf(config).url,
  poll: (config, context) => pollFeed(configOf(config), context),
};

async function pollFeed({ url, backfill }: RssConfig, context: FeedContext): Promise<FeedPoll> {
  const feedUrl = await context.resolveTemplate(url);
  const response = await sendPollRequest(
    context.http,
    { url: feedUrl, headers: headersFor(context.cursor), maxResponseBytes: MAX_BYTES },
    context,
  );
  if (response.status === 304 && context.cursor)
    return { cursor: context.cursor, items: [], skippedIds: [], hasMore: false };
  if (response.status < 200 || response.status > 299)
    throw statusError(response, 'The server of the feed', context.nowMs);
  const feed = await parseFeed(decodeDocument(response.body, headerOf(response, 'content-type')));
  const { items, skippedIds, hasMore } = await selectItems(feed.items, { backfill, context });
  // The query of a URL may contain a credential.
  const base = response.url.replace(/[?#].*/s, '');
  return {
    // Until all items have been accepted, the document is read again.
    cursor: hasMore ? {} : validatorsOf(response),
    items: items.map((item): FeedItem => ({ id: item.id, input: inputOf(item, feed, { base, context }) })),
    skippedIds,
    hasMore,
  };
}

function headersFor(cursor: JsonObject = {}): { [name: string]: string } {
  const { etag, lastModified } = cursor;
  return {
    Accept: ACCEPT,
    'User-Agent': 'Heddle (feed reader)',
    ...(typeof etag === 'string' && { 'If-None-Match': etag }),
    ...(typeof lastModified === 'string' && { 'If-Modified-Since': lastModified }),
  };
}

function validatorsOf(response: Parameters<typeof headerOf>[0]): JsonObject {
  const [etag, lastModified] = [headerOf(response, 'etag'), headerOf(response, 'last-modified')];
  const isStorable = (value: string | undefined): value is string =>
    value !== undefined && value.length <= MAX_VALIDATOR_CHARS && /^[\x20-\x7e]+$/.test(value);
  return { ...(isStorable(etag) && { etag }), ...(isStorable(lastModified) && { lastModified }) };
}

/** Returns the new items that start runs, the earliest first, and the ids of the new items that start none. */
async function selectItems(
  feedItems: readonly ParsedItem[],
  { backfill, context }: { backfill: number; context: FeedContext },
): Promise<{ items: ParsedItem[]; skippedIds: string[]; hasMore: boolean }> {
  // A feed begins with its newest item.
  const byId = new Map(feedItems.toReversed().map((item) => [item.id, item]));
  const unknownIds = await context.filterUnknownIds([...byId.keys()]);
  const newItems = sortByDate([...byId.values()].filter(({ id }) => unknownIds.has(id)));
  const skippedCount = context.cursor ? 0 : Math.max(0, newItems.length - backfill);
  const remainingItems = newItems.slice(skippedCount);
  const skippedIds = newItems.slice(0, skippedCount).map(({ id }) => id);
  return {
    items: remainingItems.slice(0, context.limit),
    skippedIds,
    hasMore: remainingItems.length > context.limit,
  };
}

/** Returns the items in the order of their dates if all have one. Otherwise keeps their order. */
function sortByDate(items: readonly ParsedItem[]): ParsedItem[] {
  const dates = new Map(items.map((item) => [item, Date.parse(item.date ?? '')]));
  if ([...dates.values()].some(Number.isNaN)) return [...items];
  return items.toSorted((a, b) => (dates.get(a) ?? 0) - (dates.get(b) ?? 0));
}

function inputOf(
  { id, title = '', link = '', date = '', ...item }: ParsedItem,
  feed: ParsedFeed,
  { base, context }: { base: string; context: FeedContext },
): JsonObject {
  const fields = { title, link: absoluteUrl(link, base), pubDate: date };
  return {
    ...fields,
    item: { guid: id, ...fields, isoDate: isoDate(date), ...contentOf(item) },
    feed: feedOutput(feed, base),
    timestamp: new Date(context.nowMs).toISOString(),
  };
}

function contentOf({
  summary = '',
  content = summary,
  author = '',
  categories,
  enclosure = null,
}: Pick<ParsedItem, 'summary' | 'content' | 'author' | 'categories'> & {
  enclosure?: JsonObject | null;
}): JsonObject {
  return { summary, content, contentSnippet: snippetOf(content), author, categories, enclosure };
}

function feedOutput({ title = '', link = '', description = '' }: ParsedFeed, base: string): JsonObject {
  return { title, link: absoluteUrl(link, base), description };
}

function isoDate(date: string): string | null {
  const ms = Date.parse(date);
  return Number.isNaN(ms) ? null : new Date(ms).toISOString();
}

function absoluteUrl(link: string, base: string): string {
  return link !== '' && URL.canParse(link, base) ? new URL(link, base).href : link;
}

/** Returns the beginning of the text without markup. */
function snippetOf(html: string): string {
  const text = html
    .slice(0, MAX_SNIPPET_CHARS * 20)
    .replaceAll(/<[^<>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ');
  return text.trim().slice(0, MAX_SNIPPET_CHARS);
}

/** Decodes a document by its byte order mark, its `Content-Type`, or its XML declaration. Default: UTF-8. */
function decodeDocument(bytes: Uint8Array, contentType = ''): string {
  const declaration = Buffer.from(bytes.subarray(0, 200)).toString('latin1');
  const declaredEncoding = /^\s*<\?xml[^>]*encoding\s*=\s*["']([\w.:-]+)["']/i.exec(declaration)?.[1];
  const label =
    encodingFromByteOrderMark(bytes) ??
    /charset\s*=\s*"?([\w.:-]+)/i.exec(contentType)?.[1] ??
    declaredEncoding ??
    'utf-8';
  try {
    return new TextDecoder(label).decode(bytes);
  } catch {
    throw feedError(`The document has an unknown encoding: ${label.slice(0, 40)}.`);
  }
}

/** The description, fields and outputs of the block, for the documentation and for workflow editors. */
export const rssSchema = {
  summary: 'Starts a run for each new item of a feed: RSS or Atom.',
  fields: rssFields.extend(flowControlFields),
  outputs: z.object({
    title: z.string().describe('The title of the item.'),
    link: z.string().describe('The URL of the item.'),
    pubDate: z.string().describe('When the item was published, in the format of the feed.'),
    item: z
      .record(z.string(), z.json())
      .describe(
        'guid, title, link, pubDate, isoDate, summary, content, contentSnippet, author, categories and enclosure.',
      ),
    feed: z.record(z.string(), z.json()).describe('title, link and description of the feed.'),
    timestamp: z.string().describe('When the item was found, in ISO 8601 and UTC.'),
  }),
};
