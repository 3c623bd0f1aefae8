import type { Engine } from '@heddle/engine';
import type * as z from 'zod';
import { capacityLimits, createCapacity } from './admission/capacity.ts';
import type { CapacityLimits } from './admission/capacity.ts';
import { admit } from './admission/admit.ts';
import { ANONYMOUS_CALLERS, bodyTooLarge, expectFewValues } from './admission/input-limits.ts';
import type { InputLimits } from './admission/input-limits.ts';
import type { Limiter } from './admission/limiter.ts';
import type { Concurrency, Usage } from './admission/usage.ts';
import { PublicRunRetention } from './areas/runs/public-runs.ts';
import { RunQueue } from './areas/runs/queue.ts';
import { NO_CREDENTIAL, unauthorized } from './auth/authorize.ts';
import { keyAuthenticator } from './auth/key-authenticator.ts';
import type { Authenticator, Principal } from './auth/principal.ts';
import type { AllowsPublicRuns } from './auth/public.ts';
import { valid } from './http/parse.ts';
import { referenceAsset, referencePage } from './http/reference.ts';
import { createRoutes } from './http/routes.ts';
import { openApiDocument } from './openapi.ts';
import type { AnyOperation, Operation, Reply } from './operation.ts';
import type { ExecutionPolicy, Services } from './services.ts';
import type { ApiStore } from './store/open.ts';
import { ALL_OPERATIONS, OPERATIONS } from './table.ts';

/** What an API is made of; it closes neither the engine nor the store. */
export interface ApiOptions {
  engine: Engine;
  store: ApiStore;
  /** Tells who calls; default: the keys of the store. */
  authenticator?: Authenticator;
  /** Counts requests; default: nothing is limited. */
  limiter?: Limiter;
  /** Counts what runs cost, and refuses those that nobody pays; default: nothing is counted. */
  usage?: Usage;
  /** Counts the runs of an account that are in flight; default: they are not counted. */
  concurrency?: Concurrency;
  /**
   * Executions in flight in this process at most: in all (default 500), of one caller (default half of them), and in one
   * workspace (default three quarters). A number is the total.
   */
  capacity?: number | Partial<CapacityLimits>;
  /** Bounds of what callers without a credential send to public workflows. */
  publicInputs?: Partial<InputLimits>;
  /** Whether workflows of a workspace may be run without a credential, once an admin has made them public; default: yes. */
  publicRuns?: AllowsPublicRuns;
  /**
   * Milliseconds after their end in which runs of callers without a credential are kept: from an hour on, default 30 days;
   * Infinity: for ever.
   */
  publicRunRetentionMs?: number;
  /** Times that runs may take at most; default: as long as they need. */
  policy?: ExecutionPolicy;
  /** True: faults that older engines let pass are warnings. */
  compat?: boolean;
  /**
   * `https://host`, for absolute addresses. Default: that of each request, which follows its `Host`, so give it unless
   * something in front checks `Host`.
   */
  origin?: string;
  /** The address of the client, for the limit before anything is known of it; default: there is no such limit. */
  clientAddress?: (request: Request) => string | undefined;
  now?: () => number;
  /** Calls `beat` every so many milliseconds until what it gives is called. */
  every?: (ms: number, beat: () => void) => () => void;
  /** Told of faults that reach no caller; default: a warning of the process. */
  onError?: (error: unknown) => void;
}

/** Who calls an operation as a function, and with what. */
export interface FunctionCall<Path, Query, Body> {
  /** Null: nobody has said; for public workflows. */
  principal: Principal | null;
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

/** The API of an engine: one function for requests, and one for each operation. */
export interface Api {
  /** Answers a request, whatever it is. Never rejects, and needs no `this`. */
  fetch: (request: Request) => Promise<Response>;
  /** The operations without HTTP, with the same checks. Reject with an `ApiError`, or what `refusalOf` reads as one. */
  operations: { [Name in keyof typeof OPERATIONS]: Callable<(typeof OPERATIONS)[Name]> };
  /** The OpenAPI 3.1 document. */
  openApi(origin: string): object;
  /** Starts no more accepted runs; those that were not started are by the next process. */
  close(): Promise<void>;
}

const HEARTBEAT_MS = 15_000;
const PUBLIC_RUN_RETENTION_MS = 30 * 24 * 3_600_000;
/** What the engine has just stored is not deleted. */
const SHORTEST_RETENTION_MS = 3_600_000;
/** How often what others have accepted is looked for, and how long it must have waited. */
const TAKE_OVER_MS = 5000;

/** The API of `engine` over `store`. Runs that were accepted and not started are taken up. */
export async function createApi(options: ApiOptions): Promise<Api> {
  const { publicRunRetentionMs: retentionMs = PUBLIC_RUN_RETENTION_MS } = options;
  if (!(retentionMs >= SHORTEST_RETENTION_MS))
    throw new RangeError(`publicRunRetentionMs is a number from ${SHORTEST_RETENTION_MS} on.`);
  const services = servicesOf(options);
  const { origin, clientAddress = () => undefined } = options;
  const app = createRoutes(ALL_OPERATIONS, services, { origin, clientAddress });
  app.get('/openapi.json', (c) =>
    c.json(openApiDocument(ALL_OPERATIONS, origin ?? new URL(c.req.url).origin)),
  );
  app.get('/docs', () => referencePage());
  app.get('/docs/:asset', async (c) => (await referenceAsset(c.req.param('asset'))) ?? c.notFound());
  await services.queue.recover();
  const stop = takeOver(services);
  const retention = new PublicRunRetention({ ...services, retentionMs });
  return {
    fetch: async (request) => app.fetch(request),
    operations: functionsOf(services, origin ?? ''),
    openApi: (at) => openApiDocument(ALL_OPERATIONS, at),
    close: async () => {
      stop();
      await Promise.all([retention.close(), services.queue.close()]);
    },
  };
}

/** Starts, again and again, what other processes have accepted and do not come to: they may have died. */
function takeOver({ queue, every, now, report }: Services): () => void {
  return every(TAKE_OVER_MS, () => {
    queue.recover(new Date(now() - TAKE_OVER_MS).toISOString()).catch(report);
  });
}

function servicesOf(options: ApiOptions): Services {
  const { engine, store, now = Date.now, onError = warn } = options;
  return {
    engine,
    store,
    authenticator: options.authenticator ?? keyAuthenticator(store.keys, now),
    limiter: options.limiter ?? { take: () => null },
    usage: options.usage,
    concurrency: options.concurrency,
    capacity: createCapacity(capacityLimits(options.capacity)),
    publicInputs: { ...ANONYMOUS_CALLERS, ...options.publicInputs },
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
    called(services, operation, origin),
  ]);
  return Object.fromEntries(functions) as Api['operations'];
}

function called(services: Services, operation: AnyOperation, origin: string) {
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
        if (bytes > limits.bytes) throw bodyTooLarge();
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
