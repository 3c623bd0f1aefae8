import { randomUUID } from 'node:crypto';
import { Hono } from 'hono';
import { admit } from '../admission/admit.ts';
import type { ServedOperation } from '../admission/admit.ts';
import { limitHeaders, consumeRateLimit, unlimitedState } from '../admission/limiter.ts';
import type { LimitKind, LimitState } from '../admission/limiter.ts';
import type { AreaContext } from '../context.ts';
import { accountOf } from '../auth/principal.ts';
import type { Authenticator, Principal } from '../auth/principal.ts';
import { ApiError, NO_CREDENTIAL, isApiError, unauthorized, unavailable } from '../errors.ts';
import type { AnyOperation } from '../operation.ts';
import { readRequest } from './parse.ts';
import { requestIdOf, respond, respondError } from './reply.ts';

export interface RouteOptions {
  authenticator: Authenticator;
  /** The path below which the API is served: empty, or with a leading and no trailing slash. */
  basePath: string;
  /** The origin of this deployment. Default: the origin of each request. */
  origin?: string | undefined;
  /** Returns the client's address, for the limit per address. */
  clientAddress(request: Request): string | undefined;
}

type HeaderRecord = { [name: string]: string };

/** Returns a router with a route for each operation. Every other request gets an error envelope. */
export function createRoutes(
  servedOperations: readonly ServedOperation[],
  context: AreaContext,
  options: RouteOptions,
): Hono {
  const app = new Hono().basePath(options.basePath);
  for (const group of groupsBySpecificity(servedOperations)) {
    for (const servedOperation of group) {
      app.on(servedOperation.operation.method, routePath(servedOperation.operation), (c) =>
        handleRequest(context, servedOperation, {
          request: c.req.raw,
          params: c.req.param() as RoutedRequest['params'],
          options,
        }),
      );
    }
    // Registered before the less specific paths: a route of theirs may match this path and accept the method.
    const [{ operation }] = group;
    app.all(routePath(operation), (c) => {
      const refusal = new ApiError(405, 'Method not allowed', { headers: { Allow: allowedMethods(group) } });
      return respondError(refusal, requestIdHeader(c.req.raw), context.onError);
    });
  }
  app.notFound((c) =>
    respondError(new ApiError(404, 'Not found'), requestIdHeader(c.req.raw), context.onError),
  );
  app.onError((error, c) => respondError(error, requestIdHeader(c.req.raw), context.onError));
  return app;
}

type Group = readonly [ServedOperation, ...ServedOperation[]];

/**
 * Returns the operations grouped by path. Paths with literal segments come before paths with parameters, because the
 * first route that matches handles a request.
 */
function groupsBySpecificity(servedOperations: readonly ServedOperation[]): Group[] {
  const groups = new Map<string, Group>();
  for (const servedOperation of servedOperations) {
    const key = servedOperation.operation.path.replaceAll(/\{[^}]*\}/g, '\uffff');
    const group = groups.get(key);
    groups.set(key, group ? [...group, servedOperation] : [servedOperation]);
  }
  return [...groups].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, group]) => group);
}

/** Returns the methods of a path in the format of the `Allow` header. */
function allowedMethods(group: Group): string {
  const methods = group.map(({ operation: { method } }) => (method === 'GET' ? 'GET, HEAD' : method));
  return methods.join(', ');
}

interface RoutedRequest {
  request: Request;
  params: { [name: string]: string };
  options: RouteOptions;
}

async function handleRequest(
  context: AreaContext,
  servedOperation: ServedOperation,
  routedRequest: RoutedRequest,
): Promise<Response> {
  const { request, params, options } = routedRequest;
  const { operation } = servedOperation;
  const { basePath } = options;
  const headers: HeaderRecord = requestIdHeader(request);
  try {
    const { principal, addressLimit } = await identify(context, operation, routedRequest);
    const limit = principal ? await takeOperationToken(context, operation, principal) : addressLimit;
    if (limit) Object.assign(headers, limitHeaders(limit));
    const reply = await admit(context, servedOperation, {
      principal,
      workflowId: params['workflowId'],
      headers: request.headers,
      signal: request.signal,
      origin: (options.origin ?? new URL(request.url).origin) + basePath,
      basePath,
      isHead: request.method === 'HEAD',
      read: (limits) => {
        const maxBytes = context.bodyBytes.get(operation.id) ?? Infinity;
        return readRequest(operation, request, { params, limits, maxBytes, repeat: context.repeat });
      },
    });
    const response = respond(reply, { ...limitHeaders(limit ?? unlimitedState(context.now())), ...headers });
    if (request.method !== 'HEAD') return response;
    await response.body?.cancel();
    return new Response(null, response);
  } catch (error) {
    return respondError(error, headers, context.onError, operation.legacy);
  }
}

/**
 * Returns the caller and the state of the limit per address. The caller is undefined if the call has no credential and
 * the operation allows such calls. Throws 401, 429, 503.
 */
async function identify(
  context: AreaContext,
  operation: AnyOperation,
  { request, options }: RoutedRequest,
): Promise<{ principal: Principal | undefined; addressLimit: LimitState | undefined }> {
  const address = options.clientAddress(request);
  const addressLimit = address === undefined ? undefined : await takeToken(context, 'address', [address]);
  const { headers } = request;
  const apiKey = headers.get('x-api-key') ?? undefined;
  const authorization = headers.get('authorization') ?? undefined;
  const bearerToken = apiKey === undefined ? /^bearer +(\S+)$/i.exec(authorization ?? '')?.[1] : undefined;
  const principal = await authenticate(context, options.authenticator, [{ apiKey, bearerToken }, headers]);
  if (principal) return { principal, addressLimit };
  if (apiKey !== undefined) throw unauthorized('Invalid API key');
  if (authorization !== undefined) throw unauthorized('Invalid access token', true);
  if (operation.principals.includes('anonymous')) return { principal: undefined, addressLimit };
  throw unauthorized(NO_CREDENTIAL);
}

/** Throws 503 if the authenticator is unavailable. */
async function authenticate(
  { onError }: AreaContext,
  authenticator: Authenticator,
  args: Parameters<Authenticator['authenticate']>,
): Promise<Principal | undefined> {
  try {
    return await authenticator.authenticate(...args);
  } catch (error) {
    onError(error);
    throw unavailable();
  }
}

async function takeOperationToken(
  context: AreaContext,
  operation: AnyOperation,
  principal: Principal,
): Promise<LimitState | undefined> {
  const subjects = [principal.credentialId, accountOf(principal)];
  const keys = subjects.map((subject) => `v2:${operation.id}:${subject}`);
  return takeToken(context, 'operation', keys, operation.id);
}

/** Takes a token from the buckets of the subjects. Throws 429, and 503 if the limiter is unavailable. */
async function takeToken(
  { limiter, now, onError }: AreaContext,
  kind: LimitKind,
  subjects: readonly string[],
  operation?: string,
): Promise<LimitState | undefined> {
  try {
    return await consumeRateLimit(limiter, kind, subjects, {
      nowMs: now(),
      ...(operation !== undefined && { operation }),
    });
  } catch (error) {
    if (isApiError(error)) throw error;
    onError(error);
    throw unavailable();
  }
}

function requestIdHeader(request: Request): HeaderRecord {
  return { 'X-Request-Id': requestIdOf(request, randomUUID) };
}

/** Returns the path with its parameters in Hono's syntax. */
function routePath({ path }: AnyOperation): string {
  return path.replaceAll(/\{(\w+)\}/g, ':$1');
}
