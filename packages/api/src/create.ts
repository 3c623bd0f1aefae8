import type { Engine } from '@heddle/engine';
import type * as z from 'zod';
import { admit } from './admission/admit.ts';
import { capacityLimits, createCapacity } from './admission/capacity.ts';
import type { CapacityLimits } from './admission/capacity.ts';
import { ANONYMOUS_LIMITS, expectFewValues } from './admission/input-limits.ts';
import type { InputLimits } from './admission/input-limits.ts';
import type { Limiter } from './admission/limiter.ts';
import type { Concurrency, Usage } from './admission/usage.ts';
import { keyAuthenticator } from './areas/keys/store.ts';
import { PublicRunRetention } from './areas/runs/public-runs.ts';
import { RunQueue } from './areas/runs/queue.ts';
import type { AllowsPublicRuns } from './auth/authorize.ts';
import type { Authenticator, Principal } from './auth/principal.ts';
import { NO_CREDENTIAL, payloadTooLarge, unauthorized } from './errors.ts';
import { valid } from './http/parse.ts';
import { referenceAsset, referencePage } from './http/reference.ts';
import { createRoutes } from './http/routes.ts';
import { openApiDocument } from './openapi.ts';
import type { AnyOperation, Operation, Reply } from './operation.ts';
import type { ExecutionPolicy, Services } from './services.ts';
import type { ApiStore } from './store/open.ts';
import { ALL_OPERATIONS, OPERATIONS } from './table.ts';

/** The parts of an API. Closing the API closes neither the engine nor the store. */
export interface ApiOptions {
  engine: Engine;
  store: ApiStore;
  /** Identifies callers. Default: by the API keys of the store. */
  authenticator?: Authenticator;
  /** Operations besides those of this package. One with the id of one of these replaces it over HTTP. */
  operations?: readonly AnyOperation[];
  /** Limits the rate of requests. Default: no limits. */
  limiter?: Limiter;
  /** Accounts for what runs cost and refuses runs that are not paid for. Default: nothing is counted. */
  usage?: Usage;
  /** Limits the runs of an account in flight. Default: no limit. */
  concurrency?: Concurrency;
  /**
   * Executions in flight in this process: in total (default 500), per caller (default half of the total), and per
   * workspace (default three quarters). A number is the total.
   */
  capacity?: number | Partial<CapacityLimits>;
  /** Input limits of callers without a credential. */
  publicInputs?: Partial<InputLimits>;
  /** Tells whether a workspace may have public workflows. An admin makes a workflow public. Default: yes. */
  publicRuns?: AllowsPublicRuns;
  /**
   * Milliseconds for which runs of callers without a credential are kept after their end: at least an hour, default 30
   * days; Infinity: for ever.
   */
  publicRunRetentionMs?: number;
  /** Time limits of runs. Default: none. */
  policy?: ExecutionPolicy;
  /** Treats faults that older engines tolerate as warnings. */
  compat?: boolean;
  /**
   * `https://host`, for absolute URLs. Default: that of each request, which a caller chooses by its `Host` header, so set
   * it unless a proxy checks `Host`.
   */
  origin?: string;
  /** Returns the client's address, for the limit per address. Default: no such limit. */
  clientAddress?: (request: Request) => string | undefined;
  now?: () => number;
  /** Calls `beat` every `ms` milliseconds. Returns a function that stops it. */
  every?: (ms: number, beat: () => void) => () => void;
  /** Receives errors that reach no caller. Default: a warning of the process. */
  onError?: (error: unknown) => void;
}

/** The caller and the input of an operation that is called as a function. */
export interface FunctionCall<Path, Query, Body> {
  /** Undefined for a call without a credential, to a public workflow. */
  principal: Principal | undefined;
  path?: Path;
  query?: Query;
  body?: Body;
  headers?: Headers | { [name: string]: string };
  signal?: AbortSignal;
}

type Callable<Op> =
  Op extends Operation<infer Path, infer Query, infer Body>
    ? (call: FunctionCall<z.input<Path>, z.input<Query>, z.input<Body>>) => Promise<Reply>
    : never;

/** The HTTP API of an engine: a request handler, and a function for each operation. */
export interface Api {
  /** Answers any request. Never rejects, and needs no `this`. */
  fetch: (request: Request) => Promise<Response>;
  /** The operations without HTTP, with the same checks. They reject with an `ApiError`, or with what `refusalOf` converts to one. */
  operations: { [Name in keyof typeof OPERATIONS]: Callable<(typeof OPERATIONS)[Name]> };
  /** Returns the OpenAPI 3.1 document. */
  openApi(origin: string): object;
  /** Stops starting queued runs. The next process starts the rest. */
  close(): Promise<void>;
}

const HEARTBEAT_MS = 15_000;
const PUBLIC_RUN_RETENTION_MS = 30 * 24 * 3_600_000;
/** Keeps retention from deleting what the engine has just stored. */
const MIN_RETENTION_MS = 3_600_000;
/** How often the queue is checked for runs of other processes, and for how long these must have waited. */
const RECOVERY_MS = 5000;

/** Returns the API of `engine` over `store`. Starts the runs that earlier processes have left in the queue. */
export async function createApi(options: ApiOptions): Promise<Api> {
  const { publicRunRetentionMs: retentionMs = PUBLIC_RUN_RETENTION_MS } = options;
  if (!(retentionMs >= MIN_RETENTION_MS))
    throw new RangeError(`publicRunRetentionMs must be at least ${MIN_RETENTION_MS}.`);
  const services = servicesOf(options);
  const { origin, clientAddress = () => undefined } = options;
  const given = options.operations ?? [];
  const replaced = new Set(given.map(({ id }) => id));
  const table = [...ALL_OPERATIONS.filter(({ id }) => !replaced.has(id)), ...given];
  const app = createRoutes(table, services, { origin, clientAddress });
  app.get('/openapi.json', (c) => c.json(openApiDocument(table, origin ?? new URL(c.req.url).origin)));
  app.get('/docs', () => referencePage());
  app.get('/docs/:asset', async (c) => (await referenceAsset(c.req.param('asset'))) ?? c.notFound());
  await services.queue.recover();
  const stopRecovery = recoverRepeatedly(services);
  const retention = new PublicRunRetention({ ...services, retentionMs });
  return {
    fetch: async (request) => app.fetch(request),
    operations: functionsOf(services, origin ?? ''),
    openApi: (at) => openApiDocument(table, at),
    close: async () => {
      stopRecovery();
      await Promise.all([retention.close(), services.queue.close()]);
    },
  };
}

/** Starts queued runs of processes that have died. */
function recoverRepeatedly({ queue, every, now, report }: Services): () => void {
  return every(RECOVERY_MS, () => {
    queue.recover(new Date(now() - RECOVERY_MS).toISOString()).catch(report);
  });
}

function servicesOf(options: ApiOptions): Services {
  const { engine, store, now = Date.now, onError = warn } = options;
  return {
    engine,
    store,
    authenticator: options.authenticator ?? keyAuthenticator(store.keys, now),
    limiter: options.limiter ?? { take: () => undefined },
    usage: options.usage,
    concurrency: options.concurrency,
    capacity: createCapacity(capacityLimits(options.capacity)),
    publicInputs: { ...ANONYMOUS_LIMITS, ...options.publicInputs },
    queue: new RunQueue({ engine, reservations: store.reservations, report: onError }),
    allowsPublicRuns: options.publicRuns ?? (() => true),
    policy: options.policy ?? {},
    compat: options.compat ?? false,
    now,
    heartbeatMs: HEARTBEAT_MS,
    every: options.every ?? repeat,
    report: onError,
  };
}

function functionsOf(services: Services, origin: string): Api['operations'] {
  const functions = Object.entries(OPERATIONS).map(([name, operation]) => [
    name,
    functionOf(services, operation, origin),
  ]);
  return Object.fromEntries(functions) as Api['operations'];
}

function functionOf(services: Services, operation: AnyOperation, origin: string) {
  return async (call: FunctionCall<object, object, unknown>): Promise<Reply> => {
    if (!call.principal && !operation.public) throw unauthorized(NO_CREDENTIAL);
    return admit(services, operation, {
      principal: call.principal,
      workflowId: (call.path as { workflowId?: string } | undefined)?.workflowId,
      headers: new Headers(call.headers),
      signal: call.signal ?? new AbortController().signal,
      origin,
      read: async (limits) => {
        expectFewValues(call.body, limits);
        const bytes = call.principal ? 0 : Buffer.byteLength(JSON.stringify(call.body ?? {}));
        if (bytes > limits.bytes) throw payloadTooLarge();
        return {
          path: valid(operation.params, call.path ?? {}, 'Invalid path parameters'),
          query: valid(operation.query, call.query ?? {}, 'Invalid query parameters'),
          body: operation.body && valid(operation.body, call.body ?? {}, 'Invalid request body'),
        };
      },
    });
  };
}

function repeat(ms: number, beat: () => void): () => void {
  const timer = setInterval(beat, ms);
  timer.unref();
  return () => clearInterval(timer);
}

function warn(error: unknown): void {
  process.emitWarning(
    error instanceof Error ? (error.stack ?? error.message) : String(error),
    'HeddleWarning',
  );
}
