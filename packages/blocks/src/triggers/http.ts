import { isRetryableStatus, parseRetryAfterMs } from '@heddle/core/fields';
import type { HttpClient } from '@heddle/engine';
import { feedError } from './feed.ts';
import type { FeedContext } from '@heddle/engine/triggers';

type HttpRequest = Parameters<HttpClient['fetch']>[0];
type HttpResponse = Awaited<ReturnType<HttpClient['fetch']>>;

const TIMEOUT_MS = 30_000;

/** Returns a header of a response; undefined if it is absent. `name` is in lower case. */
export function headerOf({ headers }: Pick<HttpResponse, 'headers'>, name: string): string | undefined {
  return headers.find(([headerName]) => headerName === name)?.[1];
}

/** Sends a request of a poll. Throws a BlockError that shows only the host of the request. */
export async function sendPollRequest(
  http: HttpClient,
  request: HttpRequest,
  { signal }: Pick<FeedContext, 'signal'>,
): Promise<HttpResponse> {
  try {
    return await http.fetch({ timeoutMs: TIMEOUT_MS, ...request, signal });
  } catch (error) {
    signal.throwIfAborted();
    throw feedError(error instanceof Error ? error.message : 'The request has failed.', { cause: error });
  }
}

/** Returns the error for a response with an unsuccessful status. `server` is the subject of its message. */
export function statusError(
  response: Pick<HttpResponse, 'status' | 'headers'>,
  server: string,
  nowMs: number,
): ReturnType<typeof feedError> {
  const { status } = response;
  const retryAfterMs = isRetryableStatus(status)
    ? parseRetryAfterMs(headerOf(response, 'retry-after'), nowMs)
    : undefined;
  const message = `${server} responded with the status ${status}.`;
  return feedError(message, retryAfterMs === undefined ? {} : { retryAfterMs });
}
