import { refusalOf } from '../engine-errors.ts';
import { ApiError } from '../errors.ts';
import type { Reply } from '../operation.ts';

/** Headers that every answer has. */
const ALWAYS = { 'Cache-Control': 'private, no-store', 'X-Content-Type-Options': 'nosniff' };

const REQUEST_ID = /^[A-Za-z0-9._:-]{1,128}$/;

/** The id of the request: the caller's own when it has a form that fits, else a new one. */
export function requestIdOf(request: Request, newId: () => string): string {
  const given = request.headers.get('x-request-id') ?? '';
  return REQUEST_ID.test(given) ? given : newId();
}

/** The answer to a call that was admitted. */
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
  return json(reply.status ?? 200, body, { ...headers, ...reply.headers });
}

/** The envelope of an error. What is a fault of ours says no more than that. */
export function respondError(
  error: unknown,
  headers: { [name: string]: string },
  report: (error: unknown) => void,
  legacy = false,
): Response {
  const known = refusalOf(error);
  if (!known) report(error);
  const refusal = known ?? new ApiError(500, 'Internal server error');
  const { status, code, message, details } = refusal;
  const more = details !== undefined && details !== null && { details };
  const shown = legacy ? { error: message, ...more } : { error: { code, message, ...more } };
  return json(status, shown, { ...headers, ...refusal.headers });
}

function json(status: number, body: unknown, headers: { [name: string]: string }): Response {
  return new Response(JSON.stringify(body), {
    status,
    headers: { 'Content-Type': 'application/json; charset=utf-8', ...ALWAYS, ...headers },
  });
}
