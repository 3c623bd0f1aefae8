import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { blocks } from '@heddle/blocks';
import { createEngine } from '@heddle/engine';
import type { EngineOptions } from '@heddle/engine';
import { describe, expect, it, onTestFinished } from 'vitest';
import { hasPostgres, createPostgresDatabase } from '../support/postgres.ts';
import { TestClock } from '../support/test-clock.ts';
import { block, workflow } from '../support/workflow.ts';
import { sendJson, startToolService } from './tool-service.ts';

/** Starts a service that rate-limits the key "slow" for two minutes. Returns it with the keys of its requests. */
async function startService() {
  const keys: string[] = [];
  const server = createServer((request, response) => {
    const key = String(request.headers.authorization).slice('Bearer '.length);
    keys.push(key);
    const [status, headers] = key === 'slow' ? [429, { 'retry-after': '120' }] : [200, {}];
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end('{"id": "1"}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return { keys, baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

/** Returns a function that calls the service with a key. */
async function createCaller(url: string, options: EngineOptions = {}) {
  const engine = await createEngine({ blocks: blocks(), services: { resend: url }, ...options });
  onTestFinished(() => engine.close({ graceMs: 0 }));
  return (apiKey: string) => {
    const fields = { operation: 'get_email', emailId: '1', apiKey };
    return engine.execute({ workflow: workflow([block('A', 'resend', fields)], ['Start -> A']) });
  };
}

describe('a key that a service refuses temporarily', () => {
  it('is not used until the refusal ends, while other keys are used', async () => {
    const { baseUrl, keys } = await startService();
    const call = await createCaller(baseUrl);
    expect((await call('slow')).error?.message).toMatch(/responded with 429/);
    const { error } = await call('slow');
    expect(error).toMatchObject({ code: 'HTTP_FAILED', details: { status: 429 } });
    expect(error?.message).toMatch(
      /"resend" was not called: it has refused calls with this credential for another 1\d\d s/,
    );
    expect(await call('other')).toMatchObject({ status: 'completed' });
    expect(keys).toEqual(['slow', 'other']);
  });

  it('is still used at another base URL', async () => {
    const [firstService, secondService] = [await startService(), await startService()];
    await (
      await createCaller(firstService.baseUrl)
    )('slow');
    await (
      await createCaller(secondService.baseUrl)
    )('slow');
    expect([firstService.keys, secondService.keys]).toEqual([['slow'], ['slow']]);
  });

  it.skipIf(!hasPostgres)('is not used by other processes', async () => {
    const { baseUrl, keys } = await startService();
    const postgres = { url: await createPostgresDatabase() };
    const callInFirstProcess = await createCaller(baseUrl, { postgres });
    const callInSecondProcess = await createCaller(baseUrl, { postgres });
    await callInFirstProcess('slow');
    expect((await callInSecondProcess('slow')).error?.message).toMatch(/was not called/);
    expect(keys).toEqual(['slow']);
  });
});

describe('the rate limit of a service', () => {
  const slowRate = { calls: 10, seconds: 100 };

  it.each<[string, object]>([
    ['its definition', { rate: slowRate }],
    [
      'the operator, who overrides its definition',
      { rate: { calls: 1000, seconds: 1 }, serviceRates: { shop: slowRate } },
    ],
  ])('is set by %s, and calls wait for it', async (_source, options) => {
    const clock = new TestClock();
    const { call, requests } = await startToolService({}, (_, response) => sendJson(response, {}), {
      clock,
      ...options,
    });
    expect(await call()).toMatchObject({ status: 'completed' });
    const secondCall = call();
    await clock.waitForTimer(10_000);
    expect(requests).toHaveLength(1);
    clock.advance(10_000);
    expect(await secondCall).toMatchObject({ status: 'completed' });
    expect(requests).toHaveLength(2);
  });

  it('that allows no call within a minute fails the block, with the time until the next call', async () => {
    const rate = { calls: 1, seconds: 3600 };
    const { call, requests } = await startToolService({}, (_, response) => sendJson(response, {}), {
      rate,
      clock: new TestClock(),
    });
    await call();
    const { error } = await call();
    expect(error).toMatchObject({ code: 'HTTP_FAILED', details: { kind: 'rate' } });
    expect(error?.message).toMatch(
      /its rate limit of 1 calls in 3600 s, or a refusal, allows the next call in 3600 s/,
    );
    expect(requests).toHaveLength(1);
  });

  it('counts each page of a list', async () => {
    const clock = new TestClock();
    const paging = { by: 'page', items: 'list', argument: 'at', pages: 2 };
    const { call, requests } = await startToolService(
      { paging },
      ({ url }, response) => sendJson(response, { list: [url.search] }),
      { clock, rate: slowRate },
    );
    const resultPromise = call();
    await clock.waitForTimer(10_000);
    expect(requests).toHaveLength(1);
    clock.advance(10_000);
    await resultPromise;
    expect(requests).toHaveLength(2);
  });

  it('is separate for each credential', async () => {
    const { baseUrl, keys } = await startService();
    const call = await createCaller(baseUrl, { serviceRates: { resend: { calls: 1, seconds: 3600 } } });
    expect(await call('one')).toMatchObject({ status: 'completed' });
    expect((await call('one')).error?.message).toMatch(/was not called: its rate limit of 1 calls/);
    expect(await call('other')).toMatchObject({ status: 'completed' });
    expect(keys).toEqual(['one', 'other']);
  });

  it.skipIf(!hasPostgres)('is shared by processes', async () => {
    const postgres = { url: await createPostgresDatabase() };
    const rate = { calls: 1, seconds: 3600 };
    const firstService = await startToolService({}, (_, response) => sendJson(response, {}), {
      rate,
      postgres,
    });
    await firstService.call();
    const secondService = await startToolService({}, (_, response) => sendJson(response, {}), {
      ...{ rate, postgres },
      services: { shop: firstService.baseUrl },
    });
    expect((await secondService.call()).error?.message).toMatch(/was not called: its rate limit of 1 calls/);
    expect(firstService.requests).toHaveLength(1);
  });

  it.each([
    { calls: 0, seconds: 1 },
    { calls: 1, seconds: 0 },
    { calls: Number.NaN, seconds: 1 },
  ])('is rejected by createEngine if it is %j', async (rate) => {
    await expect(createEngine({ serviceRates: { shop: rate } })).rejects.toMatchObject({
      code: 'OPTIONS_INVALID',
    });
  });
});
