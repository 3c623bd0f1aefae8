import { randomUUID } from 'node:crypto';
import { Hono } from 'hono';
import { limitHeaders, takeFrom, unlimited } from '../admission/limiter.ts';
import type { LimitKind, LimitState } from '../admission/limiter.ts';
import { admit } from '../admission/admit.ts';
import { NO_CREDENTIAL, unauthorized } from '../auth/authorize.ts';
import { accountOf } from '../auth/principal.ts';
import type { Principal } from '../auth/principal.ts';
import { ApiError, isApiError, unavailable } from '../errors.ts';
import type { AnyOperation } from '../operation.ts';
import type { Services } from '../services.ts';
import { readRequest } from './parse.ts';
import { requestIdOf, respond, respondError } from './reply.ts';

/** How requests become calls. */
export interface RouteOptions {
  /** The deployment's own origin; default that of each request. */
  origin?: string | undefined;
  /** The address of the client, for limits before anything is known of it. */
  clientAddress(request: Request): string | undefined;
}

type Headers_ = { [name: string]: string };

/** A route for each operation, and an envelope for everything else. */
export function createRoutes(
  operations: readonly AnyOperation[],
  services: Services,
  options: RouteOptions,
): Hono {
  const app = new Hono();
  for (const operation of operations) {
    app.on(operation.method, operation.path.replaceAll(/\{(\w+)\}/g, ':$1'), (c) =>
      answer(services, operation, { request: c.req.raw, params: c.req.param() as Headers_, options }),
    );
  }
  for (const [path, methods] of methodsByPath(operations)) {
    app.all(path, (c) => {
      const refusal = new ApiError(405, 'Method not allowed', { headers: { Allow: methods.join(', ') } });
      return respondError(refusal, idHeader(c.req.raw), services.report);
    });
  }
  app.notFound((c) => respondError(new ApiError(404, 'Not found'), idHeader(c.req.raw), services.report));
  app.onError((error, c) => respondError(error, idHeader(c.req.raw), services.report));
  return app;
}

interface Arrived {
  request: Request;
  params: { [name: string]: string };
  options: RouteOptions;
}

async function answer(services: Services, operation: AnyOperation, arrived: Arrived): Promise<Response> {
  const { request, params, options } = arrived;
  const headers: Headers_ = idHeader(request);
  try {
    const { principal, address } = await identify(services, operation, arrived);
    const limit = principal ? await countCall(services, operation, principal) : address;
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
 * Returns the caller, null without a credential where the operation is public, and how the limit of the client's address
 * stands. Throws 401, 429, 503.
 */
async function identify(
  services: Services,
  operation: AnyOperation,
  { request, options }: Arrived,
): Promise<{ principal: Principal | null; address: LimitState | null }> {
  const client = options.clientAddress(request);
  const address = client === undefined ? null : await counted(services, 'address', [client]);
  const apiKey = request.headers.get('x-api-key') ?? undefined;
  const authorization = request.headers.get('authorization') ?? undefined;
  if (apiKey === undefined && authorization === undefined) {
    if (operation.public) return { principal: null, address };
    throw unauthorized(NO_CREDENTIAL);
  }
  const bearer = apiKey === undefined ? /^bearer +(\S+)$/i.exec(authorization ?? '')?.[1] : undefined;
  const principal = await authenticated(services, apiKey, bearer);
  if (principal) return { principal, address };
  throw apiKey === undefined ? unauthorized('Invalid access token', true) : unauthorized('Invalid API key');
}

async function authenticated(
  { authenticator, report }: Services,
  apiKey: string | undefined,
  bearer: string | undefined,
): Promise<Principal | null> {
  try {
    return await authenticator.authenticate({ apiKey, bearer });
  } catch (error) {
    // Who calls cannot be found out, which is no reason to let anybody in, nor to call the credential bad.
    report(error);
    throw unavailable();
  }
}

async function countCall(
  services: Services,
  operation: AnyOperation,
  principal: Principal,
): Promise<LimitState | null> {
  const subjects = [principal.credentialId, accountOf(principal)];
  const keys = subjects.map((subject) => `v2:${operation.id}:${subject}`);
  return counted(services, 'operation', keys);
}

/** How the limit stands. A limiter that fails lets nobody in. Throws 429, 503. */
async function counted(
  { limiter, now, report }: Services,
  kind: LimitKind,
  subjects: readonly string[],
): Promise<LimitState | null> {
  try {
    return await takeFrom(limiter, kind, subjects, { nowMs: now() });
  } catch (error) {
    if (isApiError(error)) throw error;
    report(error);
    throw unavailable();
  }
}

function idHeader(request: Request): Headers_ {
  return { 'X-Request-Id': requestIdOf(request, randomUUID) };
}

function methodsByPath(operations: readonly AnyOperation[]): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const { path, method } of operations) {
    const route = path.replaceAll(/\{(\w+)\}/g, ':$1');
    const methods = method === 'GET' ? ['GET', 'HEAD'] : [method];
    found.set(route, [...(found.get(route) ?? []), ...methods]);
  }
  return found;
}
