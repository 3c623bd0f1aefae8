import { describe, expect, it } from 'vitest';
import { errorIn, createTestApi } from '../../../../test/support/api.ts';
import { GREETING_WORKFLOW } from '../../../../test/support/api-workflows.ts';
import { memoryLimiter } from '../admission/limiter.ts';
import { SERVED_OPERATIONS } from '../../../../test/support/served-operations.ts';
import { AUTHENTICATED_LIMITS } from '../admission/input-limits.ts';

const api = await createTestApi();
const { call, fetch, workspaceId } = api;

/** Returns the path of an operation with unknown ids. */
function pathWithUnknownIds(path: string): string {
  return path.replaceAll('{version}', '1').replaceAll(/\{\w+\}/g, 'nothing');
}

const CASES = SERVED_OPERATIONS.map(
  (operation) => [`${operation.method} ${operation.path}`, operation] as const,
);

describe.each(CASES)('%s', (_title, operation) => {
  const { method, path } = operation;
  const body = operation.body && !operation.bodyOptional ? {} : undefined;

  it('refuses an unauthenticated call, with a challenge', async () => {
    const response = await call(method, pathWithUnknownIds(path), { key: null, body });
    const code = operation.legacy ? undefined : 'UNAUTHORIZED';
    expect(errorIn(response.body)).toEqual({
      code,
      message: operation.principals.includes('anonymous')
        ? 'Unauthorized'
        : 'API key or OAuth access token required',
    });
    expect(response.status).toBe(401);
    expect(response.headers.get('www-authenticate')).toContain('header="x-api-key"');
  });

  it('refuses an invalid key', async () => {
    const response = await call(method, pathWithUnknownIds(path), { key: 'sk-heddle-guess', body });
    expect(response.status).toBe(401);
    expect(errorIn(response.body)).toMatchObject({ message: 'Invalid API key' });
  });

  it('refuses query parameters that are unknown, empty or repeated', async () => {
    const requestPath = pathWithUnknownIds(path);
    expect(await call(method, `${requestPath}?colour=red`, { body })).toMatchObject({ status: 400 });
    const emptyValueResponse = await call(method, `${requestPath}?colour=`, { body });
    expect(emptyValueResponse.status).toBe(400);
    expect(errorIn(emptyValueResponse.body)).toMatchObject({ message: 'colour must not be empty' });
    const repeatedKeyResponse = await call(method, `${requestPath}?colour=a&colour=b`, { body });
    expect(errorIn(repeatedKeyResponse.body)).toMatchObject({ message: 'colour must be sent once' });
  });

  it('refuses a credential without its scope', async () => {
    const { engine, store } = api;
    const authenticator = {
      authenticate: () =>
        Promise.resolve({
          kind: 'oauth' as const,
          credentialId: 'token',
          userId: api.userId,
          workspaceId: null,
          scopes: operation.scope === 'api:write' ? (['api:read'] as const) : [],
          expiresAt: null,
        }),
    };
    const separateApi = await createTestApi({ engine, store, authenticator });
    const headers = { Authorization: 'Bearer x' };
    const response = await separateApi.call(method, pathWithUnknownIds(path), { key: null, headers, body });
    expect(response.status).toBe(403);
    expect(errorIn(response.body)).toMatchObject({ details: { code: 'INSUFFICIENT_SCOPE' } });
  });

  it('declares each error once', () => {
    expect(new Set(operation.errors).size).toBe(operation.errors.length);
    expect(operation.errors).toEqual(expect.arrayContaining([400, 401, 403, 429]));
  });
});

describe('a request', () => {
  it('for an unknown path gets 404 before authentication', async () => {
    const response = await call('GET', '/api/v2/nowhere', { key: null });
    expect(response.body).toEqual({ error: { code: 'NOT_FOUND', message: 'Not found' } });
    expect(response.status).toBe(404);
  });

  it('with a wrong method gets 405, with the allowed methods', async () => {
    const response = await call('PATCH', '/api/v2/workflows', { key: null });
    expect(response).toMatchObject({ status: 405, body: { error: { code: 'METHOD_NOT_ALLOWED' } } });
    expect(response.headers.get('allow')).toBe('GET, HEAD, POST');
  });

  it('with a wrong method gets 405, even if a path with a parameter has the method', async () => {
    const path = '/api/v2/workflows/w/versions/compare';
    const response = await call('PATCH', path, { key: null });
    expect(response).toMatchObject({ status: 405, body: { error: { code: 'METHOD_NOT_ALLOWED' } } });
    expect(response.headers.get('allow')).toBe('GET, HEAD');
  });

  it('keeps a well-formed request id, or gets a new one', async () => {
    const validIdResponse = await call('GET', '/api/v2/meta', { headers: { 'X-Request-Id': 'mine-1' } });
    expect(validIdResponse.headers.get('x-request-id')).toBe('mine-1');
    const invalidIdResponse = await call('GET', '/api/v2/meta', { headers: { 'X-Request-Id': 'a b' } });
    expect(invalidIdResponse.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
    expect((await call('GET', '/nowhere')).headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('gets a response that is not cached', async () => {
    for (const path of ['/api/v2/meta', '/api/v2/nowhere', '/api/v2/workflows']) {
      const { headers } = await call('GET', path);
      expect(headers.get('cache-control')).toBe('private, no-store');
      expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
    }
  });

  it('with HEAD is answered like GET, without a body', async () => {
    const existingResponse = await fetch('HEAD', '/api/v2/meta');
    expect([existingResponse.status, await existingResponse.text()]).toEqual([200, '']);
    const missingResponse = await fetch('HEAD', '/api/v2/workflows/nothing/state');
    expect([missingResponse.status, await missingResponse.text()]).toEqual([404, '']);
  });

  it('for the API metadata returns the kind of the credential', async () => {
    expect(await call('GET', '/api/v2/meta')).toMatchObject({
      status: 200,
      data: { keyType: 'personal', expiresAt: null, v2Enabled: true },
    });
  });
});

describe('a body', () => {
  const path = '/api/v2/workflows';
  it.each([
    ['{"a": ', 'application/json', 400, 'Request body must be valid JSON'],
    ['', 'application/json', 400, 'Request body must be valid JSON'],
    ['name=a', 'application/x-www-form-urlencoded', 415, 'Request body must be sent as application/json'],
    ['{}', 'application/xml', 415, 'Request body must be sent as application/json'],
    ['{}', 'application/merge-patch+json', 400, expect.any(String)],
    ['{}', 'application/json; charset=utf-16', 415, 'Request body must be sent as application/json'],
    ['{}', 'Application/JSON; Charset="UTF-8"', 400, 'workspaceId is required'],
    ['{"a": 1', 'text/html', 415, 'Request body must be sent as application/json'],
    ['{}', 'text/plain', 400, expect.any(String)],
    ['[]', 'application/json', 400, expect.any(String)],
    ['null', 'application/json; charset=utf-8', 400, expect.any(String)],
  ])('%j sent as %s is answered with %i', async (raw, type, status, message) => {
    const response = await call('POST', path, { rawBody: raw, headers: { 'Content-Type': type } });
    expect(response.status).toBe(status);
    expect(response.body).toMatchObject({ error: { message } });
  });

  it('with unknown fields is refused with their names', async () => {
    const body = { workspaceId, name: 'a', colour: 'red', size: 3 };
    const issue = {
      code: 'unrecognized_keys',
      path: [],
      keys: ['colour', 'size'],
      message: expect.any(String),
    };
    expect((await call('POST', path, { body })).body).toEqual({
      error: { code: 'BAD_REQUEST', message: issue.message, details: [issue] },
    });
  });

  it('cannot set a prototype', async () => {
    const raw = `{"workspaceId": "${workspaceId}", "name": "a", "__proto__": {"x": 1}}`;
    expect(await call('POST', path, { rawBody: raw })).toMatchObject({ status: 400 });
  });

  it('has a size limit, with and without Content-Length', async () => {
    const raw = JSON.stringify({ name: 'x'.repeat(AUTHENTICATED_LIMITS.bytes) });
    const refusal = { code: 'PAYLOAD_TOO_LARGE', message: 'Request body is too large' };
    expect(await call('POST', path, { rawBody: raw })).toMatchObject({
      status: 413,
      body: { error: refusal },
    });
    const headers = { 'Content-Length': String(AUTHENTICATED_LIMITS.bytes + 1) };
    expect(await call('POST', path, { rawBody: '{}', headers })).toMatchObject({ status: 413 });
  });
});

describe('rate limits', () => {
  it('are in the headers of each response, and refuse with 429', async () => {
    const limiter = memoryLimiter({ operation: { capacity: 2, perMinute: 60 } }, () => 0);
    const separateApi = await createTestApi({ limiter, now: () => 0 });
    const firstResponse = await separateApi.call('GET', '/api/v2/meta');
    expect([...firstResponse.headers].filter(([name]) => name.startsWith('x-ratelimit'))).toEqual([
      ['x-ratelimit-limit', '2'],
      ['x-ratelimit-remaining', '1'],
      ['x-ratelimit-reset', '1970-01-01T00:00:01.000Z'],
    ]);
    await separateApi.call('GET', '/api/v2/meta');
    const thirdResponse = await separateApi.call('GET', '/api/v2/meta');
    expect(thirdResponse).toMatchObject({
      status: 429,
      body: { error: { code: 'RATE_LIMITED', details: { retryAfter: '1970-01-01T00:00:01.000Z' } } },
    });
    expect(thirdResponse.headers.get('retry-after')).toBe('1');
    // Each operation has its own bucket.
    const listPath = `/api/v2/workflows?workspaceId=${separateApi.workspaceId}`;
    expect(await separateApi.call('GET', listPath)).toMatchObject({ status: 200 });
  });

  it('of an operation replace the limit of all operations', async () => {
    const operations = { getApiMeta: { capacity: 1, perMinute: 60 } };
    const limiter = memoryLimiter({ operation: { capacity: 9, perMinute: 60 }, operations }, () => 0);
    const separateApi = await createTestApi({ limiter, now: () => 0 });
    const getMeta = () => separateApi.call('GET', '/api/v2/meta');
    expect(await getMeta()).toMatchObject({ status: 200 });
    expect(await getMeta()).toMatchObject({ status: 429, body: { error: { code: 'RATE_LIMITED' } } });
    const listResponse = await separateApi.call(
      'GET',
      `/api/v2/workflows?workspaceId=${separateApi.workspaceId}`,
    );
    expect(listResponse.headers.get('x-ratelimit-limit')).toBe('9');
  });

  it('are in the headers of each successful response, for every caller and kind of response', async () => {
    const limiter = memoryLimiter({ address: { capacity: 100, perMinute: 60 } }, () => 0);
    const separateApi = await createTestApi({ limiter, clientAddress: () => '192.0.2.1', now: () => 0 });
    const id = await separateApi.deploy(GREETING_WORKFLOW);
    await separateApi.call('PATCH', `/api/v2/workflows/${id}/deployment`, { body: { isPublicApi: true } });
    const executePath = `/api/v2/workflows/${id}/execute`;
    const limitValuesOf = (response: { headers: Headers }): string[] =>
      ['limit', 'remaining', 'reset'].map((name) => response.headers.get(`x-ratelimit-${name}`) ?? 'none');
    const anonymousResponse = await separateApi.fetch('POST', executePath, { body: {}, key: null });
    expect(limitValuesOf(anonymousResponse)).toEqual([
      '100',
      expect.stringMatching(/^\d+$/),
      expect.stringMatching(/Z$/),
    ]);
    // Without a limit, the headers have the largest number that clients can parse.
    const unlimitedValues = ['2147483647', '2147483647', '1970-01-01T00:00:00.000Z'];
    for (const body of [{}, { stream: true }, { async: true }])
      expect(limitValuesOf(await separateApi.fetch('POST', executePath, { body }))).toEqual(unlimitedValues);
    const ndjsonHeaders = { Accept: 'application/x-ndjson' };
    const ndjsonResponse = await separateApi.fetch('POST', executePath, { body: {}, headers: ndjsonHeaders });
    expect(limitValuesOf(ndjsonResponse)).toEqual(unlimitedValues);
    const legacyResponse = await separateApi.fetch('POST', `/api/workflows/${id}/execute`, { body: {} });
    expect(limitValuesOf(legacyResponse)).toEqual(unlimitedValues);
    expect(limitValuesOf(await separateApi.fetch('HEAD', '/api/v2/meta'))).toEqual(unlimitedValues);
    expect(limitValuesOf(await separateApi.fetch('GET', '/api/v2/workflows/none'))).toEqual([
      'none',
      'none',
      'none',
    ]);
  });

  it('per address apply before authentication', async () => {
    const limiter = memoryLimiter({ address: { capacity: 1, perMinute: 1 } }, () => 0);
    const separateApi = await createTestApi({ limiter, clientAddress: () => '192.0.2.1' });
    expect(await separateApi.call('GET', '/api/v2/meta', { key: null })).toMatchObject({ status: 401 });
    expect(await separateApi.call('GET', '/api/v2/meta', { key: null })).toMatchObject({ status: 429 });
  });

  it('refill with time', () => {
    let nowMs = 0;
    const limiter = memoryLimiter({ sync: { capacity: 1, perMinute: 60 } }, () => nowMs);
    const take = () => (limiter.take('sync', ['a']) as { allowed: boolean }).allowed;
    expect([take(), take()]).toEqual([true, false]);
    nowMs = 999;
    expect(take()).toBe(false);
    nowMs = 1000;
    expect([take(), take()]).toEqual([true, false]);
    expect(limiter.take('async', ['a'])).toBeUndefined();
  });
});

describe('errors', () => {
  it('that are internal reveal nothing, and are reported', async () => {
    const store = { ...api.store, workspaces: { check: () => Promise.reject(new Error('secret place')) } };
    const separateApi = await createTestApi({
      engine: api.engine,
      store: {
        ...store,
        workspaces: Object.assign(store.workspaces, {
          createUser: () => Promise.resolve(api.userId),
          createWorkspace: () => Promise.resolve(workspaceId),
        }),
      } as never,
    });
    const response = await separateApi.call('GET', `/api/v2/workflows?workspaceId=${workspaceId}`);
    expect(response.body).toEqual({ error: { code: 'INTERNAL_ERROR', message: 'Internal server error' } });
    expect(separateApi.reportedErrors).toEqual([expect.objectContaining({ message: 'secret place' })]);
  });

  it('of the authenticator become 503, not 401', async () => {
    const authenticator = { authenticate: () => Promise.reject(new Error('down')) };
    const separateApi = await createTestApi({ engine: api.engine, store: api.store, authenticator });
    const response = await separateApi.call('GET', '/api/v2/meta');
    expect(response).toMatchObject({ status: 503, body: { error: { code: 'SERVICE_UNAVAILABLE' } } });
    expect(response.headers.get('retry-after')).toBe('5');
  });
});
