import type { JsonObject } from '@heddle/core';
import { describe, expect, it } from 'vitest';
import { TestClock } from '../support/test-clock.ts';
import { startToolService } from './tool-service.ts';

/** Calls a tool whose service responds with this status and body. Returns the error of the run, and the requests. */
async function callWithResponse(status: number, body: JsonObject, answer?: JsonObject) {
  const tool = { idempotent: false, ...(answer && { answer }) };
  const { call, requests } = await startToolService(
    tool,
    (_, response) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body)),
    { clock: new TestClock() },
  );
  const { error } = await call();
  return { error, requests };
}

describe('the kind of a service failure', () => {
  it.each<[number, string | undefined]>([
    [400, 'invalid'],
    [401, 'auth'],
    [403, 'auth'],
    [404, 'not_found'],
    [405, undefined],
    [409, 'conflict'],
    [410, 'not_found'],
    [412, 'conflict'],
    [422, 'invalid'],
    [408, 'temporary'],
    [500, 'temporary'],
    [503, 'temporary'],
  ])('depends on the status %i', async (status, kind) => {
    const { error } = await callWithResponse(status, { message: 'No' });
    expect(error).toMatchObject({ code: 'HTTP_FAILED' });
    expect((error?.details as JsonObject | undefined)?.['kind']).toBe(kind);
  });

  const answer = {
    error: 'message',
    code: 'code',
    errors: { not_found: ['E7'], conflict: ['locked', 418], temporary: ['again', 400], invalid: ['E8'] },
  };
  it.each<[string, number, JsonObject, string]>([
    ['the code', 403, { code: 'E7', message: 'locked' }, 'not_found'],
    ['a part of the error message', 400, { code: 'E1', message: 'It is locked' }, 'conflict'],
    ['the status', 418, { message: 'No' }, 'conflict'],
    ['the status, which overrides the default for it', 400, { message: 'No' }, 'temporary'],
    ['the code of a response with status 200', 200, { code: 'E8', message: 'No' }, 'invalid'],
  ])('can be defined by %s', async (_title, status, body, kind) => {
    const { error } = await callWithResponse(status, body, answer);
    expect(error).toMatchObject({ details: { status, kind } });
  });

  it('decides whether a call is retried: after a temporary refusal, but never if it may have taken effect', async () => {
    const clock = new TestClock();
    let requestCount = 0;
    const { call, requests } = await startToolService(
      { idempotent: false, answer: { errors: { rate: ['slow down'] } } },
      (_, response) =>
        requestCount++ === 0
          ? response.writeHead(403).end('slow down')
          : response.writeHead(503).end('perhaps done'),
      { clock },
    );
    const resultPromise = call();
    await clock.waitForTimer(1000);
    clock.advance(1000);
    expect((await resultPromise).error).toMatchObject({ details: { status: 503, kind: 'temporary' } });
    expect(requests).toHaveLength(2);
  });

  it('is set by the field `retry` in older tool files', async () => {
    const clock = new TestClock();
    let requestCount = 0;
    const { call } = await startToolService(
      { idempotent: false, answer: { error: 'error', retry: ['ratelimited'] } },
      (_, response) => response.end(JSON.stringify(requestCount++ === 0 ? { error: 'ratelimited' } : {})),
      { clock },
    );
    const resultPromise = call();
    await clock.waitForTimer(1000);
    clock.advance(1000);
    expect(await resultPromise).toMatchObject({ status: 'completed' });
  });
});
