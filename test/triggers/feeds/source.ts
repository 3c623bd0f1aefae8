import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { BlockError } from '@heddle/core/blocks';
import type { JsonObject } from '@heddle/core';
import { triggerTypes } from '@heddle/blocks/triggers';
import type { FeedPoll, FeedTrigger } from '@heddle/engine/triggers';
import { createEgress } from '@heddle/sandbox/egress';
import type { Egress } from '@heddle/sandbox/egress';
import { onTestFinished } from 'vitest';

/** The options of a source under test. */
export interface SourceOptions {
  /** The values of placeholders `{{NAME}}`, by name. */
  env?: { readonly [name: string]: string };
  credentials?: { readonly [id: string]: string };
  services?: { readonly [name: string]: string };
  limit?: number;
  http?: Egress;
  nowMs?: number;
}

/** The source of a feed trigger. A test polls it as the service does; the items of each poll are remembered. */
export class FeedSource {
  readonly type: FeedTrigger;
  readonly config: JsonObject;
  nowMs: number;
  cursor: JsonObject | undefined;
  readonly #knownIds = new Set<string>();
  readonly #options: SourceOptions;

  constructor(type: string, fields: JsonObject, options: SourceOptions = {}) {
    this.type = findFeedType(type);
    const result = this.type.parseConfig(fields);
    if ('problems' in result) throw new Error(JSON.stringify(result.problems));
    this.config = result.config;
    this.#options = options;
    this.nowMs = options.nowMs ?? Date.UTC(2026, 0, 1);
  }

  /** Polls the source, and remembers the items as accepted. */
  async poll(signal: AbortSignal = new AbortController().signal): Promise<FeedPoll> {
    const result = await this.type.poll(this.config, this.#createContext(signal));
    for (const { id } of result.items) this.#knownIds.add(id);
    for (const id of result.skippedIds) this.#knownIds.add(id);
    this.cursor = JSON.parse(JSON.stringify(result.cursor)) as JsonObject;
    return result;
  }

  async acknowledge(ids: readonly string[]): Promise<void> {
    await this.type.acknowledge?.(this.config, ids, this.#createContext(new AbortController().signal));
  }

  #createContext(signal: AbortSignal): Parameters<FeedTrigger['poll']>[1] {
    const { env = {}, credentials = {}, services = {}, limit = 50 } = this.#options;
    const http = this.#options.http ?? createLocalEgress();
    return {
      ...{ cursor: this.cursor, limit, http, signal, nowMs: this.nowMs },
      filterUnknownIds: (ids) => Promise.resolve(new Set(ids.filter((id) => !this.#knownIds.has(id)))),
      resolveTemplate: (template) =>
        Promise.resolve(template.replaceAll(/\{\{(\w+)\}\}/g, (_match, name: string) => env[name] ?? '')),
      credential: (id) =>
        id in credentials
          ? Promise.resolve(credentials[id] ?? '')
          : Promise.reject(new BlockError('FEED_FAILED', 'There is no such credential.')),
      service: (name) => Promise.resolve({ baseUrl: services[name], http }),
    };
  }
}

export function findFeedType(name: string): FeedTrigger {
  const trigger = triggerTypes.find(({ type }) => type === name);
  if (trigger?.kind !== 'feed') throw new Error(`${name} is not a feed trigger.`);
  return trigger;
}

/** Returns a client that can reach this machine. */
export function createLocalEgress(): Egress {
  const client = createEgress({ allowPrivate: true, ports: 'any' });
  onTestFinished(() => client.close());
  return client;
}

/** Returns the titles of the items that a poll has found. */
export function titlesOf({ items }: FeedPoll): unknown[] {
  return items.map(({ input }) => input['title']);
}

/** Returns the subjects of the messages that a poll has found. */
export function subjectsOf({ items }: FeedPoll): unknown[] {
  return items.map(({ input }) => (input['email'] as JsonObject)['subject']);
}

export interface WebServer {
  url: string;
  requests: { path: string; headers: IncomingMessage['headers'] }[];
  close(): Promise<void>;
}

/** Starts an HTTP server, which is closed after the test unless `isShared`. */
export async function startWebServer(
  handle: (request: IncomingMessage, response: ServerResponse) => void,
  { isShared = false } = {},
): Promise<WebServer> {
  const requests: WebServer['requests'] = [];
  const server = createServer((request, response) => {
    requests.push({ path: request.url ?? '', headers: request.headers });
    handle(request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  };
  if (!isShared) onTestFinished(close);
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests, close };
}

/** Returns an RSS document with these items, in this order. */
export function createRssDocument(
  items: readonly { id: string; title?: string; extraXml?: string }[],
): string {
  const elements = items.map(
    ({ id, title = id, extraXml = '' }) =>
      `<item><guid>${id}</guid><title>${title}</title>${extraXml}</item>`,
  );
  return `<?xml version="1.0"?><rss version="2.0"><channel><title>News</title>${elements.join('')}</channel></rss>`;
}
