import { ApiError, refusalOf } from '../errors.ts';
import type { Reply } from '../operation.ts';

/** Headers of every JSON response. */
const JSON_HEADERS = {
  'Content-Type': 'application/json; charset=utf-8',
  'Cache-Control': 'private, no-store',
  'X-Content-Type-Options': 'nosniff',
};

const REQUEST_ID_PATTERN = /^[A-Za-z0-9._:-]{1,128}$/;

/** Returns the request id: the caller's own if it is well-formed, else a new one. */
export function requestIdOf(request: Request, createId: () => string): string {
  const id = request.headers.get('x-request-id') ?? '';
  return REQUEST_ID_PATTERN.test(id) ? id : createId();
}

/** Returns the response for a reply. */
export function respond(reply: Reply, headers: { [name: string]: string }): Response {
  if ('raw' in reply) {
    for (const [name, value] of Object.entries({ ...headers, 'X-Content-Type-Options': 'nosniff' })) {
      reply.raw.headers.set(name, value);
    }
    if (!reply.raw.headers.has('cache-control')) reply.raw.headers.set('Cache-Control', 'private, no-store');
    return reply.raw;
  }
  const body =
    'page' in reply ? { data: reply.page, nextCursor: reply.nextCursor } : { data: reply.data ?? null };
  return jsonResponse(reply.status ?? 200, body, { ...headers, ...reply.headers });
}

/** Returns the error response. Reports an internal error without revealing it to the caller. */
export function respondError(
  error: unknown,
  headers: { [name: string]: string },
  onError: (error: unknown) => void,
  isLegacy = false,
): Response {
  const refusal = refusalOf(error);
  if (!refusal) onError(error);
  const apiError = refusal ?? new ApiError(500, 'Internal server error');
  const { status, code, message, details } = apiError;
  const detailsField = details !== undefined && details !== null && { details };
  const body = isLegacy ? { error: message, ...detailsField } : { error: { code, message, ...detailsField } };
  return jsonResponse(status, body, { ...headers, ...apiError.headers });
}

function jsonResponse(status: number, body: unknown, headers: { [name: string]: string }): Response {
  return new Response(JSON.stringify(body), { status, headers: { ...JSON_HEADERS, ...headers } });
}
