import { isBlockError } from '@heddle/core/blocks';
import type { HttpClient } from '@heddle/engine';
import { describe, expect, it } from 'vitest';
import { providerHook } from './provider-hook.ts';

const NOW_MS = Date.parse('2026-01-01T00:00:00Z');

type Request = Parameters<HttpClient['fetch']>[0];

/** A client whose requests are all answered with this status. */
function answering(status: number, headers: { [name: string]: string } = {}) {
  const requests: Request[] = [];
  const http = {
    fetch(request: Request) {
      requests.push(request);
      return Promise.resolve({ status, headers: Object.entries(headers), body: new Uint8Array() });
    },
  } as unknown as HttpClient;
  return { http, requests };
}

/** Creates the webhook of a provider. Returns the error. */
async function refusal(provider: string, http: HttpClient): Promise<unknown> {
  const hook = { credential: 'stored', owner: 'ada', repo: 'loom' };
  const created = providerHook.activate(
    { provider, hook },
    {
      ...{
        url: 'https://flows.heddle.test/hook',
        secret: 'secret',
        hookId: undefined,
        formerUrls: [],
        otherHookIds: [],
      },
      credential: () => Promise.resolve('4711:AAtoken'),
      service: () => Promise.resolve({ address: undefined, http }),
      ...{ nowMs: NOW_MS, signal: new AbortController().signal },
    },
  );
  return created.then(
    () => undefined,
    (error: unknown) => error,
  );
}

describe('the webhook of a provider', () => {
  it.each(['github', 'linear', 'stripe', 'telegram'])(
    'is created with requests of at most 10 seconds and 2 MiB, which follow no redirect: %s',
    async (provider) => {
      const { http, requests } = answering(503);
      expect(await refusal(provider, http)).toSatisfy(isBlockError);
      expect(requests).toMatchObject([
        { timeoutMs: 10_000, maxResponseBytes: 2 * 2 ** 20, redirect: 'manual' },
      ]);
    },
  );

  const reset = { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(NOW_MS / 1000 + 90) };
  it.each([
    ['seconds', { 'retry-after': '60' }, 60_000],
    ['fractions of a second', { 'retry-after': '1.5' }, 1500],
    ['a date', { 'retry-after': 'Thu, 01 Jan 2026 00:02:00 GMT' }, 120_000],
    ['the end of the rate limit', reset, 90_000],
    ['seconds and the end of the rate limit', { ...reset, 'retry-after': '5' }, 5000],
    ['zero seconds and the end of the rate limit', { ...reset, 'retry-after': '0' }, 90_000],
    ['an invalid time', { 'retry-after': 'later' }, undefined],
  ])('at GitHub is created again after the delay in the answer, given as %s', async (_as, headers, ms) => {
    const error = await refusal('github', answering(403, headers).http);
    expect(error).toMatchObject({ message: expect.stringMatching(/rate limit of GitHub/), retryable: true });
    expect((error as { retryAfterMs?: number }).retryAfterMs).toBe(ms);
  });
});
