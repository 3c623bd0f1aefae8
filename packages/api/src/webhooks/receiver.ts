import { randomUUID } from 'node:crypto';
import type { JsonObject } from '@heddle/core';
import { createCounter } from '../admission/counter.ts';
import { memoryLimiter, consumeRateLimit } from '../admission/limiter.ts';
import type { Bucket, Limiter } from '../admission/limiter.ts';
import { repeat, warn } from '../defaults.ts';
import type { RepeatFunction } from '../defaults.ts';
import { ApiError, refusalOf, tooManyRequests } from '../errors.ts';
import { requestIdOf, respondError } from '../http/reply.ts';
import { readBody, fieldsOf, parseBody } from './body.ts';
import type { WebhookLimits } from './body.ts';
import type { AcceptedEvent, FoundWebhook, WebhookEvent, WebhookAction, WebhookStore } from './port.ts';

/** The options of a receiver. */
export interface WebhookReceiverOptions {
  store: WebhookStore;
  /** Limits of bodies. Default: 5 MiB, 100,000 values, 100 parts. */
  limits?: Partial<WebhookLimits>;
  /** Deliveries to one trigger. Default: 100 per second, bursts of 1,000. */
  rate?: Bucket;
  /** Requests from one client address to unknown paths. Default: 1 per second, bursts of 100. */
  unknownPathRate?: Bucket;
  /** Requests in progress in this process. Default: 100 for each trigger, 300 for each workspace, 1,000 in total. */
  concurrency?: { perTrigger: number; perWorkspace: number; total: number };
  now?: () => number;
  /** Calls `callback` every `ms` milliseconds. Returns a function that stops it. */
  repeat?: RepeatFunction;
  /** Receives errors that reach no caller. Default: a process warning. */
  onError?: (error: unknown) => void;
}

/** Data about a request besides its URL and headers. */
export interface WebhookRequestDetails {
  /** The client's address, for the limit of requests to unknown paths. */
  address?: string | undefined;
  /** The prefix of the paths of triggers. Default: `/api/webhooks/trigger/`. */
  prefix?: string;
}

/** Handles a request from another system. Never rejects. */
export type WebhookReceiver = (request: Request, details?: WebhookRequestDetails) => Promise<Response>;

/** The prefix of the paths of triggers. */
export const WEBHOOK_PREFIX = '/api/webhooks/trigger/';
const DEFAULT_LIMITS: WebhookLimits = { bytes: 5 * 1024 * 1024, values: 100_000, parts: 100 };
const DEFAULT_RATE: Bucket = { capacity: 1000, perMinute: 6000 };
const DEFAULT_UNKNOWN_PATH_RATE: Bucket = { capacity: 100, perMinute: 60 };
const DEFAULT_CONCURRENCY = { perTrigger: 100, perWorkspace: 300, total: 1000 };
const PATH_PATTERN = /^[\w.-]{1,128}$/;

/** The request matches no trigger: the response is the same as for any unknown path. */
const NOT_FOUND = new ApiError(404, 'Not found');
const BAD_SIGNATURE = 'The request is not signed with the secret of this webhook';
const BAD_TIMESTAMP = 'The timestamp of the request is too far from the current time';

type ReceiverContext = Required<Omit<WebhookReceiverOptions, 'rate' | 'unknownPathRate' | 'limits'>> & {
  limits: WebhookLimits;
  limiter: Limiter;
  counter: ReturnType<typeof createCounter>;
};

/**
 * Returns a fetch handler that receives requests from other systems and starts the runs of triggers. Unknown paths, and
 * those of triggers that are paused, suspended or not live, get the same 404, and the bodies of their requests are not
 * read.
 */
export function webhookReceiver(options: WebhookReceiverOptions): WebhookReceiver {
  const { rate = DEFAULT_RATE, unknownPathRate = DEFAULT_UNKNOWN_PATH_RATE, now = Date.now } = options;
  const context: ReceiverContext = {
    store: options.store,
    limits: { ...DEFAULT_LIMITS, ...options.limits },
    limiter: memoryLimiter({ operation: rate, address: unknownPathRate }, now),
    counter: createCounter(),
    concurrency: options.concurrency ?? DEFAULT_CONCURRENCY,
    repeat: options.repeat ?? repeat,
    onError: options.onError ?? warn,
    now,
  };
  return async (request, { address, prefix = WEBHOOK_PREFIX } = {}) => {
    const headers = { 'X-Request-Id': requestIdOf(request, randomUUID) };
    try {
      const url = new URL(request.url);
      const path = url.pathname.startsWith(prefix) ? url.pathname.slice(prefix.length) : '';
      const response = await handle(context, { request, url, path, address });
      for (const [name, value] of Object.entries(headers)) response.headers.set(name, value);
      return response;
    } catch (error) {
      return respondError(error, headers, context.onError);
    }
  };
}

interface Call {
  request: Request;
  url: URL;
  path: string;
  address: string | undefined;
}

async function handle(context: ReceiverContext, call: Call): Promise<Response> {
  const { store } = context;
  await requireBelowUnknownPathLimit(context, call.address);
  const webhook = PATH_PATTERN.test(call.path) ? await store.find(call.path) : undefined;
  if (!webhook || !webhook.type.accepts(webhook.config, call.request.method))
    return refuseUnknownPath(context, call.address);
  await consumeRateLimit(context.limiter, 'operation', [webhook.key], { nowMs: context.now() });
  const release = acquireSlots(context, webhook);
  try {
    return await handleDelivery(context, webhook, call);
  } catch (error) {
    const refusal = refusalOf(error);
    if (refusal && refusal.status !== 404) store.recordRefusal(webhook, reasonOf(error, refusal));
    throw error;
  } finally {
    release();
  }
}

/** The error for a request that is not authentic, with the reason for the log. */
class AuthenticationError extends ApiError {
  readonly problem: string;

  constructor(problem: string) {
    super(401, problem.startsWith('TIMESTAMP') ? BAD_TIMESTAMP : BAD_SIGNATURE);
    this.problem = problem;
  }
}

function reasonOf(error: unknown, { status, message }: ApiError): string {
  return error instanceof AuthenticationError ? error.problem : `${status} ${message}`;
}

/** Throws 429 for an address that has sent many requests to unknown paths. */
async function requireBelowUnknownPathLimit(
  { limiter }: ReceiverContext,
  address: string | undefined,
): Promise<void> {
  if (address === undefined) return;
  const state = await limiter.peek?.('address', address);
  if (state && !state.allowed)
    throw tooManyRequests('Too many requests to unknown paths. Please retry shortly.');
}

async function refuseUnknownPath({ limiter }: ReceiverContext, address: string | undefined): Promise<never> {
  if (address !== undefined) await limiter.take('address', [address]);
  throw NOT_FOUND;
}

/**
 * Counts a request as in progress, with limits that leave room for other workspaces during a burst. Returns a function
 * that frees the slots. Throws 429.
 */
function acquireSlots(
  { counter, concurrency }: ReceiverContext,
  { key, workspaceId }: FoundWebhook,
): () => void {
  const releases: (() => void)[] = [];
  const release = (): void => releases.forEach((releaseSlot) => releaseSlot());
  for (const [subject, limit] of [
    [`trigger ${key}`, concurrency.perTrigger],
    [`workspace ${workspaceId}`, concurrency.perWorkspace],
    ['total', concurrency.total],
  ] as const) {
    const releaseSlot = counter.increment(subject, limit);
    if (!releaseSlot) {
      release();
      throw tooManyRequests('Too many requests are in progress. Please retry shortly.');
    }
    releases.push(releaseSlot);
  }
  return release;
}

async function handleDelivery(
  context: ReceiverContext,
  webhook: FoundWebhook,
  { request, url, path }: Call,
): Promise<Response> {
  const { store, limits } = context;
  const { headers, method } = request;
  const bytes = await readBody(request, limits, context.repeat);
  if (webhook.type.isTest?.(webhook.config, bytes))
    return Response.json({ success: true }, { headers: SECURE_HEADERS });
  const secrets = webhook.type.isSigned(webhook.config) ? await store.secretsOf(webhook) : [];
  const { type, config } = webhook;
  const problem = type.verificationProblemOf(config, { headers, body: bytes, secrets, nowMs: context.now() });
  if (problem !== undefined) throw new AuthenticationError(problem);
  const body = await parseBody(request, bytes, limits);
  const action = type.actionFor(config, { method, headers, query: queryOf(url, limits), ...body });
  if (action.kind === 'handshake') return Response.json(action.body, { headers: SECURE_HEADERS });
  if (action.kind === 'ignored') {
    store.recordRefusal(webhook, `EVENT_IGNORED ${action.event}`);
    return Response.json({ success: true, ignored: true }, { headers: SECURE_HEADERS });
  }
  const contentType = headers.get('content-type') ?? '';
  const event: WebhookEvent = {
    ...{ deliveryId: action.deliveryId, event: action.event, input: action.input },
    ...{ method, contentType, byteLength: bytes.byteLength },
  };
  const acceptedEvent = await accept(store, { webhook, event, path });
  return respond(acceptedEvent, action, request.signal);
}

/**
 * Accepts the event for the trigger. If another version has become live meanwhile, the event goes to that version.
 * Throws 404.
 */
async function accept(
  store: WebhookStore,
  { webhook, event, path }: { webhook: FoundWebhook; event: WebhookEvent; path: string },
): Promise<AcceptedEvent> {
  const acceptedEvent = await store.accept(webhook, event);
  if (acceptedEvent) return acceptedEvent;
  const newWebhook = await store.find(path);
  const newVersionEvent = newWebhook && (await store.accept(newWebhook, event));
  if (!newVersionEvent) throw NOT_FOUND;
  return newVersionEvent;
}

const SECURE_HEADERS = { 'Cache-Control': 'private, no-store', 'X-Content-Type-Options': 'nosniff' };

async function respond(
  acceptedEvent: AcceptedEvent,
  { reply }: Extract<WebhookAction, { kind: 'event' }>,
  signal: AbortSignal,
): Promise<Response> {
  const { runId, isDuplicate, flow } = acceptedEvent;
  const headers = { ...SECURE_HEADERS, 'X-Run-Id': runId };
  const responseBody = {
    success: true,
    runId,
    ...(isDuplicate && { duplicate: true }),
    ...(flow && { flow }),
  };
  if (reply.kind === 'now' || flow?.state === 'dropped') return Response.json(responseBody, { headers });
  if (reply.kind === 'json') {
    const { status, body } = reply;
    const isEmpty = body === null || status === 204 || status === 205 || status === 304;
    return isEmpty ? new Response(null, { status, headers }) : Response.json(body, { status, headers });
  }
  const response = await acceptedEvent.waitForResponse(signal);
  if (!response) return Response.json(responseBody, { status: 202, headers });
  response.headers.set('X-Run-Id', runId);
  response.headers.set('X-Content-Type-Options', 'nosniff');
  return response;
}

/** Returns the query parameters. Names beyond the first `limits.values` are omitted. */
function queryOf({ searchParams, search }: URL, { values: maxNames }: WebhookLimits): JsonObject {
  if (search === '') return {};
  const names = new Set([...new Set(searchParams.keys())].slice(0, maxNames));
  return fieldsOf([...searchParams].filter(([name]) => names.has(name)));
}
