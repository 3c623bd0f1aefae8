import { describe, expect, it } from 'vitest';
import { testApi } from '../../../../test/support/api.ts';
import { GREETING, LONG } from '../../../../test/support/api-workflows.ts';
import { memoryLimiter } from './limiter.ts';

describe('executions in flight', () => {
  it('are as many as there are tickets; a stream holds its own until nobody reads it', async () => {
    const api = await testApi({ capacity: 1 });
    const long = await api.deployed(LONG);
    const short = await api.deployed(GREETING);
    const run = () => api.call('POST', `/api/v2/workflows/${short}/execute`, { body: {} });
    const streamed = await api.fetch('POST', `/api/v2/workflows/${long}/execute`, { body: { stream: true } });
    const refused = await run();
    expect(refused.body).toEqual({
      error: { code: 'RATE_LIMITED', message: 'Server is at capacity. Please retry shortly.' },
    });
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '5']);
    await streamed.body?.cancel();
    expect([(await run()).status, (await run()).status]).toEqual([200, 200]);
  });

  it('give their ticket back when they are refused', async () => {
    const api = await testApi({ capacity: 1 });
    const path = '/api/v2/workflows/nowhere/execute';
    expect((await api.call('POST', path, { body: {} })).status).toBe(404);
    expect((await api.call('POST', path, { raw: '{' })).status).toBe(400);
    expect((await api.call('POST', path, { body: {} })).status).toBe(404);
  });
});

describe('buckets of executions', () => {
  it('are told by a code of their own, and a refused run leaves its id free', async () => {
    const limiter = memoryLimiter({ sync: { capacity: 1, perMinute: 1 } }, () => 0);
    const api = await testApi({ limiter, now: () => 0 });
    const id = await api.deployed(GREETING);
    const path = `/api/v2/workflows/${id}/execute`;
    const headers = { 'X-Run-Id': crypto.randomUUID() };
    expect((await api.call('POST', path, { body: {} })).status).toBe(200);
    expect(await api.call('POST', path, { body: {}, headers })).toMatchObject({
      status: 429,
      body: { error: { code: 'RATE_LIMITED', details: { code: 'RATE_LIMIT_EXCEEDED' } } },
    });
    const accepted = await api.call('POST', path, { body: { async: true }, headers });
    expect(accepted.status).toBe(202);
  });
});
