import { isBlockError } from '@heddle/core/blocks';
import type { HttpClient } from '@heddle/engine';
import type { WebhookRegistrationContext } from '@heddle/engine/triggers';
import { describe, expect, it } from 'vitest';
import { webhookRegistrar } from './webhook-registrar.ts';

const NOW_MS = Date.parse('2026-01-01T00:00:00Z');

type Request = Parameters<HttpClient['fetch']>[0];

/** Returns an HTTP client whose responses all have this status, and the list of its requests. */
function clientWithStatus(status: number, headers: { [name: string]: string } = {}) {
  const requests: Request[] = [];
  const http = {
    fetch(request: Request) {
      requests.push(request);
      return Promise.resolve({ status, headers: Object.entries(headers), body: new Uint8Array() });
    },
  } as unknown as HttpClient;
  return { http, requests };
}

const WEBHOOK_URL = 'https://flows.heddle.test/hook';
const HOOK = { credential: 'stored', owner: 'ada', repo: 'loom' };

/** Returns a context for a webhook of which only the URL is known. */
function contextWith(http: HttpClient): WebhookRegistrationContext {
  return {
    ...{
      url: WEBHOOK_URL,
      secret: 'secret',
      registrationId: undefined,
      formerUrls: [],
      otherRegistrationIds: [],
    },
    credential: () => Promise.resolve('4711:AAtoken'),
    service: () => Promise.resolve({ baseUrl: undefined, http }),
    ...{ nowMs: NOW_MS, signal: new AbortController().signal },
  };
}

/** Creates the webhook of a provider. Returns the error; undefined if there is none. */
async function catchActivationError(provider: string, http: HttpClient): Promise<unknown> {
  const activation = webhookRegistrar.activate({ provider, hook: HOOK }, contextWith(http));
  return activation.then(
    () => undefined,
    (error: unknown) => error,
  );
}

describe('the webhook of a provider', () => {
  it.each(['github', 'linear', 'stripe', 'telegram'])(
    'is created with requests of at most 10 seconds and 2 MiB, which follow no redirect: %s',
    async (provider) => {
      const { http, requests } = clientWithStatus(503);
      expect(await catchActivationError(provider, http)).toSatisfy(isBlockError);
      expect(requests).toMatchObject([
        { timeoutMs: 10_000, maxResponseBytes: 2 * 2 ** 20, redirect: 'manual' },
      ]);
    },
  );

  const rateLimitHeaders = { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(NOW_MS / 1000 + 90) };
  it.each([
    ['seconds', { 'retry-after': '60' }, 60_000],
    ['fractions of a second', { 'retry-after': '1.5' }, 1500],
    ['a date', { 'retry-after': 'Thu, 01 Jan 2026 00:02:00 GMT' }, 120_000],
    ['the end of the rate limit', rateLimitHeaders, 90_000],
    ['seconds and the end of the rate limit', { ...rateLimitHeaders, 'retry-after': '5' }, 5000],
    ['zero seconds and the end of the rate limit', { ...rateLimitHeaders, 'retry-after': '0' }, 90_000],
    ['an invalid time', { 'retry-after': 'later' }, undefined],
  ])(
    'at GitHub is created again after the delay in the response, given as %s',
    async (_format, headers, ms) => {
      const error = await catchActivationError('github', clientWithStatus(403, headers).http);
      expect(error).toMatchObject({
        message: expect.stringMatching(/rate limit of GitHub/),
        retryable: true,
      });
      expect((error as { retryAfterMs?: number }).retryAfterMs).toBe(ms);
    },
  );
});

const PAGE_SIZE = 100;

/**
 * Functions that return the body of a page of a provider's list of webhooks. With a `url`, the page has a webhook with
 * this URL and is the last page. Without, the page is full, and another page follows.
 */
const PAGE_BUILDERS: { readonly [provider: string]: (url: string | undefined) => unknown } = {
  github: (url) =>
    url === undefined ? fullPage((id) => ({ id, config: {} })) : [{ id: 7, config: { url } }],
  linear: (url) => {
    const nodes =
      url === undefined ? fullPage((id) => ({ id, url: 'https://other.test' })) : [{ id: 7, url }];
    const pageInfo = { hasNextPage: url === undefined, endCursor: 'next' };
    return { data: { webhooks: { nodes, pageInfo }, webhookUpdate: { webhook: { id: '7' } } } };
  },
  stripe: (url) => ({
    data: url === undefined ? fullPage((id) => ({ id, url: 'https://other.test' })) : [{ id: 'we_7', url }],
    has_more: url === undefined,
  }),
};

function fullPage(createWebhook: (id: number) => unknown): unknown[] {
  return Array.from({ length: PAGE_SIZE }, (_, index) => createWebhook(index + 100));
}

/** Removes a webhook that is on this page of the provider's list. Returns the requests. */
async function recordRemovalRequests(provider: string, page: number): Promise<Request[]> {
  const requests: Request[] = [];
  const http = {
    fetch(request: Request) {
      requests.push(request);
      const isListed = requests.length === page;
      const text = JSON.stringify(PAGE_BUILDERS[provider]?.(isListed ? WEBHOOK_URL : undefined));
      return Promise.resolve({ status: 200, headers: [], body: new TextEncoder().encode(text) });
    },
  } as unknown as HttpClient;
  await webhookRegistrar.deactivate({ provider, hook: HOOK }, contextWith(http));
  return requests;
}

describe.each(Object.keys(PAGE_BUILDERS))('a webhook at %s whose id is unknown', (provider) => {
  it('is found on a later page of the list, and removed', async () => {
    const requests = await recordRemovalRequests(provider, 3);
    expect(requests).toHaveLength(4);
    expect(new Set(requests.slice(0, 3).map(({ url, body }) => `${url} ${String(body)}`)).size).toBe(
      // The first request has no cursor; the following requests have the simulated cursor.
      provider === 'github' ? 3 : 2,
    );
    const last = requests.at(-1);
    expect(`${last?.method} ${last?.url} ${String(last?.body)}`).toMatch(
      /DELETE .*\/(we_)?7 |webhookDelete.*"7"/,
    );
  });

  it('is searched for on at most 20 pages', async () => {
    expect(await recordRemovalRequests(provider, 21)).toHaveLength(20);
  });
});
