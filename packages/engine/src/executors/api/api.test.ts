import { describe, expect, it } from 'vitest';
import type { JsonObject } from '@heddle/core/blocks';
import { EgressError } from '@heddle/sandbox/egress';
import type { EgressRequest, EgressResponse } from '@heddle/sandbox/egress';
import { contextOf, failureOf } from '../../../../../test/support/block.ts';
import type { BlockFixture } from '../../../../../test/support/block.ts';
import { TestClock } from '../../../../../test/support/test-clock.ts';
import { apiExecutor } from './api.ts';

type ScriptedResponse = { status?: number; headers?: [string, string][]; body?: string | Uint8Array } | Error;

const responseOf = ({
  status = 200,
  headers = [['content-type', 'application/json']],
  body = '{}',
}: Exclude<ScriptedResponse, Error>): EgressResponse => ({
  status,
  statusText: status === 503 ? 'Unavailable' : '',
  url: 'https://x.test/',
  redirected: false,
  headers,
  body: typeof body === 'string' ? new TextEncoder().encode(body) : body,
});

interface CallFixture extends BlockFixture {
  responses?: ScriptedResponse[];
  requests?: EgressRequest[];
}

const call = (
  params: JsonObject,
  { responses = [{}], requests = [], ...fixture }: CallFixture = {},
): Promise<unknown> => {
  let sentCount = 0;
  const fetch = async (request: EgressRequest): Promise<EgressResponse> => {
    requests.push(request);
    const response = responses[Math.min(sentCount++, responses.length - 1)] ?? {};
    if (response instanceof Error) throw response;
    return responseOf(response);
  };
  const context = contextOf({
    type: 'api',
    params: { url: 'https://x.test/a', ...params },
    services: {
      httpClient: async () => ({
        fetch,
        checkServer: () => Promise.reject(new Error('not used')),
        open: () => Promise.reject(new Error('not used')),
      }),
    },
    ...fixture,
  });
  return Promise.resolve(apiExecutor.execute(context));
};

const requestOf = async (params: JsonObject, fixture: CallFixture = {}): Promise<EgressRequest> => {
  const requests: EgressRequest[] = [];
  await call(params, { ...fixture, requests });
  return requests[0]!;
};

const createTable = (...pairs: [string, string][]): JsonObject[] =>
  pairs.map(([Key, Value]) => ({ id: Key, cells: { Key, Value } }));

describe('the request of an api block', () => {
  it('is not sent without a URL (P1)', async () => {
    expect(await call({ url: ' ' })).toEqual({ output: { data: null, status: 200, headers: {} } });
  });

  it('takes method, query and headers from the fields, and strips quotes around the URL', async () => {
    const params = {
      url: '"https://x.test/a?b=1"',
      method: 'delete',
      params: createTable(['q', 'a b&c'], ['b', '2']),
      headers: createTable(['X-A', '<a.v>']),
    };
    expect(await requestOf(params, { outputs: { A: { v: 7 } } })).toMatchObject({
      url: 'https://x.test/a?b=1&q=a+b%26c&b=2',
      method: 'DELETE',
      headers: [['X-A', '7']],
      timeoutMs: 300_000,
    });
  });

  it.each<[JsonObject, string | null, boolean]>([
    [{ body: { a: '<a.v>' } }, '{"a":7}', true],
    [{ body: '{"a": 12345678901234567890}' }, '{"a": 12345678901234567890}', true],
    [{ body: 'plain' }, 'plain', false],
    [{ body: '{no json' }, '{no json', false],
    [{ body: null }, null, false],
  ])('has the body of %j (P4–P6)', async (params, body, isJson) => {
    const request = await requestOf({ method: 'POST', ...params }, { outputs: { A: { v: 7 } } });
    expect(request.body).toBe(body);
    expect(request.headers).toEqual(isJson ? [['Content-Type', 'application/json']] : []);
  });

  it('contains the chain of calling workflows, even if an authored header conflicts with it', async () => {
    const headers = createTable(['x-sim-via', 'forged'], ['X-A', '1']);
    expect((await requestOf({ headers }, { callChain: ['outer', 'own'] })).headers).toEqual([
      ['X-A', '1'],
      ['X-Sim-Via', 'outer,own'],
    ]);
  });

  it('has the authored content type, and no body with GET', async () => {
    expect(
      (await requestOf({ method: 'PUT', body: {}, headers: { 'content-type': 'application/x' } })).headers,
    ).toEqual([['content-type', 'application/x']]);
    expect((await requestOf({ body: '{"a":1}' })).body).toBeNull();
  });

  it('has the same idempotency key in every attempt if configured', async () => {
    expect((await requestOf({ method: 'POST', idempotencyHeader: true })).headers).toEqual([
      ['Idempotency-Key', 'run-1/self/2/0'],
    ]);
    expect((await requestOf({ method: 'POST', idempotencyHeader: 'X-Once' })).headers).toEqual([
      ['X-Once', 'run-1/self/2/0'],
    ]);
  });

  it('uses the configured timeout, limited to the remaining time', async () => {
    expect(await requestOf({ timeout: '5000' })).toMatchObject({ timeoutMs: 5000 });
    expect(await requestOf({ timeout: '5000' }, { deadlineMs: 300 })).toMatchObject({ timeoutMs: 300 });
  });

  it.each<[JsonObject, string]>([
    [{ url: 'x.test/a' }, 'scheme'],
    [{ url: 'file:///etc/passwd' }, 'http'],
    [{ method: 'BREW' }, '"BREW"'],
    [{ headers: 'bad' }, 'headers'],
  ])('is refused if a field is invalid: %j (P2)', async (params, message) => {
    expect(await failureOf(() => call(params))).toMatchObject({
      code: 'BLOCK_CONFIG_INVALID',
      retryable: false,
      message: expect.stringContaining(message) as string,
    });
  });
});

describe('a failing api block', () => {
  it('names method, URL, status and hint, never credentials or query values (P8–P10)', async () => {
    const params = { url: 'https://user:pw@x.test/a?token=abc', method: 'POST' };
    const failure = await failureOf(() =>
      call(params, { responses: [{ status: 503, body: '{"why": "busy"}' }] }),
    );
    expect(failure).toMatchObject({
      code: 'HTTP_FAILED',
      retryable: true,
      message:
        'POST https://x.test/a?token=… responded with 503 Unavailable. The server failed: a retry may succeed.',
      details: { method: 'POST', url: 'https://x.test/a?token=…', status: 503, body: '{"why":"busy"}' },
    });
  });

  it.each<[EgressError['code'], boolean]>([
    ['EGRESS_FAILED', true],
    ['EGRESS_TIMEOUT', true],
    ['EGRESS_DENIED', false],
    ['EGRESS_TOO_LARGE', false],
  ])('reports %s as a failure of the request (P11)', async (code, retryable) => {
    expect(
      await failureOf(() => call({}, { responses: [new EgressError(code, 'the reason')] })),
    ).toMatchObject({
      code: 'HTTP_FAILED',
      retryable,
      message: 'GET https://x.test/a failed: the reason',
      details: { reason: code },
    });
  });

  it('passes the Retry-After of the server to the retry policy of the block', async () => {
    const responses = [{ status: 429, headers: [['retry-after', '120']] as [string, string][] }];
    expect(await failureOf(() => call({}, { responses }))).toMatchObject({ retryAfterMs: 120_000 });
  });
});

describe('retries of an api block', () => {
  /** Executes the block with a clock that skips every wait. Returns the waits and the number of sent requests. */
  const recordWaits = async (
    params: JsonObject,
    fixture: CallFixture,
  ): Promise<{ waits: number[]; sentCount: number; outcome: unknown }> => {
    const delays: number[] = [];
    const requests: EgressRequest[] = [];
    const clock = new (class extends TestClock {
      override at(atMs: number, fire: () => void): () => void {
        delays.push(atMs - this.now());
        const cancel = super.at(atMs, fire);
        queueMicrotask(() => this.advance(atMs - this.now()));
        return cancel;
      }
    })();
    const outcome = await call(params, { ...fixture, clock, requests }).catch((error: unknown) => error);
    return { waits: delays, sentCount: requests.length, outcome };
  };
  const busyResponse = { status: 503 };

  it('back off up to a limit until a request succeeds', async () => {
    const params = { retries: 4, retryDelayMs: 100, retryMaxDelayMs: 300 };
    expect(
      await recordWaits(params, {
        responses: [
          busyResponse,
          new EgressError('EGRESS_FAILED', 'x'),
          busyResponse,
          busyResponse,
          { body: '1' },
        ],
      }),
    ).toMatchObject({ waits: [100, 200, 300, 300], sentCount: 5, outcome: { output: { data: 1 } } });
  });

  it('fail with the last error', async () => {
    expect(await recordWaits({ retries: 1, retryDelayMs: 5 }, { responses: [busyResponse] })).toMatchObject({
      waits: [5],
      sentCount: 2,
      outcome: { code: 'HTTP_FAILED' },
    });
  });

  it('are off by default, and never follow permanent failures', async () => {
    expect(await recordWaits({}, { responses: [busyResponse] })).toMatchObject({ sentCount: 1 });
    expect(await recordWaits({ retries: 3 }, { responses: [{ status: 404 }] })).toMatchObject({
      sentCount: 1,
    });
    expect(
      await recordWaits({ retries: 3 }, { responses: [new EgressError('EGRESS_DENIED', 'no')] }),
    ).toMatchObject({ sentCount: 1 });
  });

  it('never follow a non-idempotent request, unless allowed or with an idempotency key', async () => {
    const params = { method: 'POST', retries: 1, retryDelayMs: 1 };
    expect(await recordWaits(params, { responses: [busyResponse] })).toMatchObject({ sentCount: 1 });
    expect(
      await recordWaits({ ...params, retryNonIdempotent: true }, { responses: [busyResponse] }),
    ).toMatchObject({
      sentCount: 2,
    });
    expect(
      await recordWaits({ ...params, idempotencyHeader: true }, { responses: [busyResponse] }),
    ).toMatchObject({
      sentCount: 2,
    });
    expect(
      await recordWaits({ ...params, idempotencyHeader: 'X-Once' }, { responses: [busyResponse] }),
    ).toMatchObject({ sentCount: 2 });
  });

  it('honour Retry-After, in seconds or as a date, unless it is too long', async () => {
    const retryAfter = (value: string): ScriptedResponse => ({
      status: 429,
      headers: [['retry-after', value]],
    });
    const params = { retries: 1, retryDelayMs: 100 };
    expect(await recordWaits(params, { responses: [retryAfter('2'), {}] })).toMatchObject({
      waits: [2000],
      sentCount: 2,
    });
    expect(
      await recordWaits(params, { responses: [retryAfter('Thu, 01 Jan 1970 00:00:07 GMT'), {}] }),
    ).toMatchObject({ waits: [7000] });
    expect(await recordWaits(params, { responses: [retryAfter('3600'), {}] })).toMatchObject({
      waits: [],
      sentCount: 1,
      outcome: { retryAfterMs: 3_600_000 },
    });
  });

  it('stop when the run is cancelled, even while waiting', async () => {
    const controller = new AbortController();
    const clock = new TestClock();
    const result = call({ retries: 5 }, { responses: [busyResponse], clock, signal: controller.signal });
    await expect.poll(() => clock.pendingTimerCount).toBe(1);
    controller.abort(new Error('stopped'));
    await expect(result).rejects.toThrow('stopped');
    expect(clock.pendingTimerCount).toBe(0);
  });
});
