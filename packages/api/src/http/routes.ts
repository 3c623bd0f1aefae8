import { randomUUID } from 'node:crypto';
import { Hono } from 'hono';
import { admit } from '../admission/admit.ts';
import { limitHeaders, takeFrom, unlimited } from '../admission/limiter.ts';
import type { LimitKind, LimitState } from '../admission/limiter.ts';
import { accountOf } from '../auth/principal.ts';
import type { Principal } from '../auth/principal.ts';
import { ApiError, NO_CREDENTIAL, isApiError, unauthorized, unavailable } from '../errors.ts';
import type { AnyOperation } from '../operation.ts';
import type { Services } from '../services.ts';
import { readRequest } from './parse.ts';
import { requestIdOf, respond, respondError } from './reply.ts';

export interface RouteOptions {
  /** The origin of this deployment. Default: that of each request. */
  origin?: string | undefined;
  /** Returns the client's address, for the limit per address. */
  clientAddress(request: Request): string | undefined;
}

type HeaderRecord = { [name: string]: string };

/** Returns a router with a route for each operation. Every other request gets an error envelope. */
export function createRoutes(
  operations: readonly AnyOperation[],
  services: Services,
  options: RouteOptions,
): Hono {
  const app = new Hono();
  for (const operation of bySpecificity(operations)) {
    app.on(operation.method, routePath(operation), (c) =>
      answer(services, operation, { request: c.req.raw, params: c.req.param() as HeaderRecord, options }),
    );
  }
  for (const [path, methods] of methodsByPath(bySpecificity(operations))) {
    app.all(path, (c) => {
      const refusal = new ApiError(405, 'Method not allowed', { headers: { Allow: methods.join(', ') } });
      return respondError(refusal, idHeader(c.req.raw), services.report);
    });
  }
  app.notFound((c) => respondError(new ApiError(404, 'Not found'), idHeader(c.req.raw), services.report));
  app.onError((error, c) => respondError(error, idHeader(c.req.raw), services.report));
  return app;
}

/** Returns the operations with literal segments before parameters: the first route that matches answers. */
function bySpecificity(operations: readonly AnyOperation[]): AnyOperation[] {
  const key = ({ path }: AnyOperation): string => path.replaceAll(/\{[^}]*\}/g, '\uffff');
  return operations.toSorted((a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0));
}

interface RoutedRequest {
  request: Request;
  params: { [name: string]: string };
  options: RouteOptions;
}

async function answer(services: Services, operation: AnyOperation, routed: RoutedRequest): Promise<Response> {
  const { request, params, options } = routed;
  const headers: HeaderRecord = idHeader(request);
  try {
    const { principal, addressLimit } = await identify(services, operation, routed);
    const limit = principal ? await takeForCall(services, operation, principal) : addressLimit;
    if (limit) Object.assign(headers, limitHeaders(limit));
    const reply = await admit(services, operation, {
      principal,
      workflowId: params['workflowId'],
      headers: request.headers,
      signal: request.signal,
      origin: options.origin ?? new URL(request.url).origin,
      head: request.method === 'HEAD',
      read: (limits) => readRequest(operation, request, { params, limits, every: services.every }),
    });
    const response = respond(reply, { ...limitHeaders(limit ?? unlimited(services.now())), ...headers });
    if (request.method !== 'HEAD') return response;
    await response.body?.cancel();
    return new Response(null, response);
  } catch (error) {
    return respondError(error, headers, services.report, operation.legacy);
  }
}

/**
 * Returns the caller, undefined without a credential where the operation is public, and the state of the limit per
 * address. Throws 401, 429, 503.
 */
async function identify(
  services: Services,
  operation: AnyOperation,
  { request, options }: RoutedRequest,
): Promise<{ principal: Principal | undefined; addressLimit: LimitState | undefined }> {
  const address = options.clientAddress(request);
  const addressLimit = address === undefined ? undefined : await take(services, 'address', [address]);
  const apiKey = request.headers.get('x-api-key') ?? undefined;
  const authorization = request.headers.get('authorization') ?? undefined;
  if (apiKey === undefined && authorization === undefined) {
    if (operation.public) return { principal: undefined, addressLimit };
    throw unauthorized(NO_CREDENTIAL);
  }
  const bearer = apiKey === undefined ? /^bearer +(\S+)$/i.exec(authorization ?? '')?.[1] : undefined;
  const principal = await authenticate(services, apiKey, bearer);
  if (principal) return { principal, addressLimit };
  throw apiKey === undefined ? unauthorized('Invalid access token', true) : unauthorized('Invalid API key');
}

/** Throws 503 if the authenticator is unavailable. */
async function authenticate(
  { authenticator, report }: Services,
  apiKey: string | undefined,
  bearer: string | undefined,
): Promise<Principal | undefined> {
  try {
    return await authenticator.authenticate({ apiKey, bearer });
  } catch (error) {
    report(error);
    throw unavailable();
  }
}

async function takeForCall(
  services: Services,
  operation: AnyOperation,
  principal: Principal,
): Promise<LimitState | undefined> {
  const subjects = [principal.credentialId, accountOf(principal)];
  const keys = subjects.map((subject) => `v2:${operation.id}:${subject}`);
  return take(services, 'operation', keys);
}

/** Takes from the buckets of the subjects. Throws 429, and 503 if the limiter is unavailable. */
async function take(
  { limiter, now, report }: Services,
  kind: LimitKind,
  subjects: readonly string[],
): Promise<LimitState | undefined> {
  try {
    return await takeFrom(limiter, kind, subjects, { nowMs: now() });
  } catch (error) {
    if (isApiError(error)) throw error;
    report(error);
    throw unavailable();
  }
}

function idHeader(request: Request): HeaderRecord {
  return { 'X-Request-Id': requestIdOf(request, randomUUID) };
}

/** The path with parameters as Hono writes them. */
function routePath({ path }: AnyOperation): string {
  return path.replaceAll(/\{(\w+)\}/g, ':$1');
}

function methodsByPath(operations: readonly AnyOperation[]): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const operation of operations) {
    const route = routePath(operation);
    const methods = operation.method === 'GET' ? ['GET', 'HEAD'] : [operation.method];
    found.set(route, [...(found.get(route) ?? []), ...methods]);
  }
  return found;
}
