import { BlockError } from '@heddle/core/blocks';
import type { BlockResult, Json } from '@heddle/core/blocks';
import { isRetryableStatus, parseRetryAfterMs } from '@heddle/core/fields';
import type { EgressResponse } from '@heddle/sandbox/egress';
import type { EngineContext, EngineExecutor } from '../services.ts';
import { asText } from '../values.ts';
import { requestFailure, statusFailure } from './failure.ts';
import { readRequest } from './request.ts';
import type { ApiRequest } from './request.ts';
import { apiOutput } from './response.ts';
import { readRetry, sleep, retryDelay } from './retry.ts';

const DEFAULT_TIMEOUT_MS = 300_000;

/** Sends an HTTP request through the HTTP client with the egress policy: output `{data, status, headers}`. */
export const apiExecutor: EngineExecutor = {
  types: ['api'],
  class: 'effect',
  execute: (context) => callApi(context),
};

type AttemptResult =
  | { response: EgressResponse }
  | { failure: BlockError; mayRetry: boolean; retryAfterMs?: number | undefined };

async function callApi(context: EngineContext): Promise<BlockResult> {
  const request = readRequest(context);
  if (request === undefined) return { output: { data: null, status: 200, headers: {} } };
  const retry = readRetry(context, request);
  for (let index = 0; ; index++) {
    const result = await sendOnce(context, request);
    if ('response' in result) return { output: apiOutput(result.response) };
    const waitMs = retryDelay(index, retry, result.retryAfterMs);
    if (!result.mayRetry || index >= retry.maxRetries || waitMs === undefined) throw result.failure;
    await sleep(waitMs, context.clock, context.signal);
  }
}

/** Sends a request once. A failure is marked retryable if another attempt can succeed. */
export async function sendOnce(context: EngineContext, request: ApiRequest): Promise<AttemptResult> {
  const { signal, clock } = context;
  const httpClient = await context.services.httpClient();
  let response: EgressResponse;
  try {
    response = await httpClient.fetch({
      url: request.url,
      method: request.method,
      headers: request.headers,
      body: request.body ?? null,
      timeoutMs: timeoutOf(context),
      signal,
    });
  } catch (error) {
    if (signal.aborted)
      throw new BlockError('CANCELLED', 'The request was cancelled.', { retryable: false, cause: error });
    const failure = requestFailure(request, error);
    return { failure, mayRetry: failure.retryable };
  }
  if (response.status >= 200 && response.status < 400) return { response };
  const header = response.headers.find(([name]) => name === 'retry-after')?.[1];
  const retryAfterMs = parseRetryAfterMs(header, clock.now());
  return {
    failure: statusFailure(request, response, retryAfterMs),
    mayRetry: isRetryableStatus(response.status),
    retryAfterMs,
  };
}

function timeoutOf(context: EngineContext): number {
  const fieldTimeoutMs = positiveNumberOf(context.field('timeout'));
  return Math.max(
    1,
    Math.min(fieldTimeoutMs ?? DEFAULT_TIMEOUT_MS, context.remainingMs ?? Number.POSITIVE_INFINITY),
  );
}

function positiveNumberOf(value: Json | undefined): number | undefined {
  const number = Number(asText(value).trim() || Number.NaN);
  return Number.isFinite(number) && number > 0 ? number : undefined;
}
