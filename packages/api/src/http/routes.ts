import { randomUUID } from 'node:crypto';
import { Hono } from 'hono';
import { limitHeaders, takeFrom } from '../admission/limiter.ts';
import { admit } from '../admission/admit.ts';
import { unauthorized } from '../auth/authorize.ts';
import type { Principal } from '../auth/principal.ts';
import { ApiError, unavailable } from '../errors.ts';
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
    const principal = await identify(services, arrived);
    Object.assign(headers, await countCall(services, operation, principal));
    const reply = await admit(services, operation, {
      principal,
      headers: request.headers,
      signal: request.signal,
      origin: options.origin ?? new URL(request.url).origin,
      read: () => readRequest(operation, request, params),
    });
    const response = respond(reply, headers);
    return request.method === 'HEAD' ? new Response(null, response) : response;
  } catch (error) {
    return respondError(error, headers, services.report, operation.legacy);
  }
}

/** The caller. Throws 401, 429, 503. */
async function identify(services: Services, { request, options }: Arrived): Promise<Principal> {
  const nowMs = services.now();
  const address = options.clientAddress(request);
  if (address !== undefined) await takeFrom(services.limiter, 'address', [address], { nowMs });
  const apiKey = request.headers.get('x-api-key') ?? undefined;
  const authorization = request.headers.get('authorization') ?? undefined;
  if (apiKey === undefined && authorization === undefined) {
    throw unauthorized('API key or OAuth access token required');
  }
  const bearer = apiKey === undefined ? /^bearer +(\S+)$/i.exec(authorization ?? '')?.[1] : undefined;
  const principal = await authenticated(services, apiKey, bearer);
  if (principal) return principal;
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
): Promise<Headers_> {
  const holder = principal.userId ?? principal.workspaceId ?? principal.credentialId;
  const subjects = [principal.credentialId, holder].map((subject) => `v2:${operation.id}:${subject}`);
  const state = await takeFrom(services.limiter, 'operation', subjects, { nowMs: services.now() });
  return state ? limitHeaders(state) : {};
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
