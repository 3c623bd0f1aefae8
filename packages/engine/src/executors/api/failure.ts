import { BlockError } from '@heddle/core/blocks';
import type { JsonObject } from '@heddle/core/blocks';
import type { EgressResponse } from '@heddle/sandbox/egress';
import { redactUrl } from './request.ts';
import type { ApiRequest } from './request.ts';
import { apiOutput } from './response.ts';

const EXCERPT_CHARS = 1000;

const HINTS: readonly [test: (status: number) => boolean, hint: string][] = [
  [(status) => status === 401, 'Check the credentials that are sent.'],
  [(status) => status === 403, 'Check the permissions of the credentials.'],
  [(status) => status === 404, 'Check the path of the URL.'],
  [(status) => status === 405, 'Check the method.'],
  [(status) => status === 413, 'The body is too large for the server.'],
  [(status) => status === 415, 'Check the Content-Type header.'],
  [(status) => status === 429, 'The server limits the request rate: increase the delay between retries.'],
  [(status) => status >= 500, 'The server failed: a retry may succeed.'],
];

/**
 * Returns the failure for an HTTP error status: method, URL without query values, status and a hint. Its details have
 * an excerpt of the response body.
 */
export function statusFailure(
  request: ApiRequest,
  response: EgressResponse,
  retryAfterMs: number | undefined,
): BlockError {
  const { status, statusText } = response;
  const hint = HINTS.find(([test]) => test(status))?.[1];
  const text = `${request.method} ${redactUrl(request.url)} responded with ${status}${statusText === '' ? '' : ` ${statusText}`}.`;
  return new BlockError('HTTP_FAILED', hint === undefined ? text : `${text} ${hint}`, {
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    details: {
      method: request.method,
      url: redactUrl(request.url),
      status,
      body: excerpt(apiOutput(response)),
    },
  });
}

/**
 * Returns the failure of a request without a readable response: it failed or timed out, the policy refused it, or the
 * response was too large.
 */
export function requestFailure(request: ApiRequest, error: unknown): BlockError {
  const code = codeOf(error);
  const reason = error instanceof Error ? error.message : String(error);
  const isPolicyError = code === 'EGRESS_DENIED' || code === 'EGRESS_TOO_LARGE';
  return new BlockError('HTTP_FAILED', `${request.method} ${redactUrl(request.url)} failed: ${reason}`, {
    retryable: !isPolicyError,
    cause: error,
    details: { method: request.method, url: redactUrl(request.url), reason: code },
  });
}

/** Reads the code from the error itself: importing the type guard would load an HTTP client into every engine. */
function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' && code.startsWith('EGRESS_') ? code : 'EGRESS_FAILED';
}

function excerpt({ data }: JsonObject): string {
  const text = typeof data === 'string' ? data : JSON.stringify(data ?? null);
  return text.length > EXCERPT_CHARS ? `${text.slice(0, EXCERPT_CHARS)}…` : text;
}
