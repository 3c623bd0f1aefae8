import type { Engine } from '@heddle/engine';
import type * as z from 'zod';
import { admit } from './admission/admit.ts';
import type { ServedOperation } from './admission/admit.ts';
import { capacityLimits, createCapacityLimiter } from './admission/capacity.ts';
import { ANONYMOUS_LIMITS } from './admission/input-limits.ts';
import type { Area, Database, OperationsByName } from './area.ts';
import type { AreaContext } from './context.ts';
import { memoryReservations } from './areas/runs/memory-reservations.ts';
import { RunQueue } from './areas/runs/queue.ts';
import type { Authenticator, Principal } from './auth/principal.ts';
import { repeat, warn } from './defaults.ts';
import type { RepeatFunction } from './defaults.ts';
import { NO_CREDENTIAL, unauthorized } from './errors.ts';
import { validateCallBody, validate } from './http/parse.ts';
import { referenceAsset, referencePage } from './http/reference.ts';
import { createRoutes } from './http/routes.ts';
import { openApiDocument } from './openapi.ts';
import type { Operation, Reply } from './operation.ts';
import type { Limits, Ports } from './ports.ts';
import { requireValidOperations } from './operation-checks.ts';

/** The options of `createApi`. Closing the API closes neither the engine nor the database. */
export interface ApiOptions<Areas extends readonly Area[] = readonly Area[]> {
  /**
   * Must be created with `resolveChild` and `tenant` of `ports.definitions`: otherwise workflows could call workflows
   * of other workspaces.
   */
  engine: Engine;
  /** The areas to serve: routes and the OpenAPI document contain only their operations. */
  areas: Areas;
  ports: Ports;
  authenticator: Authenticator;
  /** The database of areas with tables. */
  database?: Database;
  /** The path below which the API is served: `/internal/heddle`. Default: the root. */
  basePath?: string;
  /** Reports problems in workflows that older engines tolerate as warnings. */
  compat?: boolean;
  /**
   * `https://host`, for absolute URLs. Default: the origin of each request, which the caller controls through the
   * `Host` header. Set it unless a proxy checks `Host`.
   */
  origin?: string;
  /** Returns the client's address, for the limit per address. Default: no such limit. */
  clientAddress?: (request: Request) => string | undefined;
  now?: () => number;
  /** Calls `callback` every `ms` milliseconds. Returns a function that stops it. */
  repeat?: RepeatFunction;
  /** Receives errors that reach no caller. Default: a process warning. */
  onError?: (error: unknown) => void;
}

/** The caller and the input of an operation that is called as a function. */
export interface FunctionCall<Path, Query, Body> {
  /** Undefined for an unauthenticated call, to a public workflow. */
  principal: Principal | undefined;
  path?: Path;
  query?: Query;
  body?: Body;
  headers?: Headers | { [name: string]: string };
  signal?: AbortSignal;
}

type Callable<Op> =
  Op extends Operation<infer _Services, infer _Value, infer Path, infer Query, infer Body>
    ? (call: FunctionCall<z.input<Path>, z.input<Query>, z.input<Body>>) => Promise<Reply>
    : never;

type Callables<Operations> = { [Name in keyof Operations]: Callable<Operations[Name]> };

/** The operations of all areas in one type. */
type MergedOperations<Union> = (Union extends unknown ? (each: Union) => void : never) extends (
  all: infer All,
) => void
  ? All
  : never;

/** The functions of the operations of these areas. */
export type AreaFunctions<Areas extends readonly Area[]> = Callables<
  MergedOperations<Areas[number]['operations']>
>;

/** The HTTP API of an engine: a request handler, and a function for each operation. */
export interface Api<Areas extends readonly Area[] = readonly Area[]> {
  /** Answers any request. Never rejects, and needs no `this`. */
  fetch: (request: Request) => Promise<Response>;
  /**
   * The operations without HTTP, with the same checks. They reject with an `ApiError`, or with an error that
   * `refusalOf` converts to one.
   */
  operations: AreaFunctions<Areas>;
  /** Returns the OpenAPI 3.1 document. */
  openApi(origin: string): object;
  /** Stops the background work of the areas, and starts no more queued runs: the next process starts them. */
  close(): Promise<void>;
}

const HEARTBEAT_MS = 15_000;
/** Interval at which the queue is checked for runs of other processes, and the minimum age of these runs. */
const RECOVERY_MS = 5000;

/**
 * Returns the API of an engine: the operations of `areas`. Runs the migrations of the areas, and starts the runs that
 * earlier processes have left in the queue. Throws a TypeError for an engine without tenants, for an invalid base path,
 * for a limit of an unknown operation, for areas that conflict with each other, for an operation that contradicts
 * itself, and for an area with tables if there is no database.
 */
export async function createApi<const Areas extends readonly Area[]>(
  options: ApiOptions<Areas>,
): Promise<Api<Areas>> {
  const { engine, areas, authenticator, basePath = '', origin, clientAddress = () => undefined } = options;
  if (!engine.separatesTenants) {
    throw new TypeError(
      'The engine lets workflows call those of other workspaces: create it with the `resolveChild` and `tenant` of the definitions.',
    );
  }
  if (!/^(\/[\w.~-]+)*$/.test(basePath))
    throw new TypeError(
      `The base path "${basePath}" is invalid: it must be empty, or like "/flows/api", with no other characters than letters, digits and -._~`,
    );
  requireValidOperations(areas, options.ports.access);
  const context = createContext(options);
  requireKnownOperations(areas, context.bodyBytes);
  const openedAreas = await openAreas(areas, options.database, context);
  const servedOperations = openedAreas.flatMap(({ area, services }) =>
    Object.values(area.operations).map((operation) => ({ operation, services })),
  );
  const operations = servedOperations.map(({ operation }) => operation);
  const app = createRoutes(servedOperations, context, { authenticator, origin, basePath, clientAddress });
  for (const { area, services } of openedAreas) {
    for (const { prefix, fetch } of area.handlers?.(services) ?? [])
      app.all(`${prefix}*`, ({ req: { raw } }) =>
        fetch(raw, { address: clientAddress(raw), prefix: basePath + prefix }),
      );
  }
  app.get('/openapi.json', (c) =>
    c.json(openApiDocument(operations, (origin ?? new URL(c.req.url).origin) + basePath)),
  );
  app.get('/docs', () => referencePage());
  app.get('/docs/:asset', async (c) => (await referenceAsset(c.req.param('asset'))) ?? c.notFound());
  await context.queue?.recover();
  const stopRecovery = recoverRepeatedly(context);
  return {
    fetch: async (request) => app.fetch(request),
    operations: createFunctions(context, openedAreas, { origin: (origin ?? '') + basePath, basePath }),
    openApi: (documentOrigin) => openApiDocument(operations, documentOrigin + basePath),
    close: async () => {
      stopRecovery();
      await context.queue?.close();
      await closeAreas(openedAreas);
    },
  };
}

/** Throws a TypeError for a limit of an operation that no area has. */
function requireKnownOperations(areas: readonly Area[], bodyBytes: ReadonlyMap<string, number>): void {
  const ids = new Set(areas.flatMap(({ operations }) => Object.values(operations).map(({ id }) => id)));
  const unknownId = [...bodyBytes.keys()].find((id) => !ids.has(id));
  if (unknownId !== undefined)
    throw new TypeError(`limits.bodyBytes has the operation "${unknownId}", which no area has.`);
}

interface OpenedArea {
  area: Area;
  services: unknown;
}

async function openAreas(
  areas: readonly Area[],
  database: Database | undefined,
  context: AreaContext,
): Promise<OpenedArea[]> {
  const openedAreas: OpenedArea[] = [];
  try {
    for (const area of areas) {
      if (area.migrations) {
        if (!database) throw new TypeError(`The area "${area.name}" has tables: createApi needs a database.`);
        await database.migrate(area.name, area.migrations);
      }
      openedAreas.push({ area, services: await area.services(context) });
    }
  } catch (error) {
    await closeAreas(openedAreas);
    throw error;
  }
  return openedAreas;
}

async function closeAreas(openedAreas: readonly OpenedArea[]): Promise<void> {
  for (const { area, services } of openedAreas.toReversed()) await area.close?.(services);
}

/** Starts queued runs that other processes have left waiting, at intervals. Returns a function that stops it. */
function recoverRepeatedly({ queue, repeat, now, onError }: AreaContext): () => void {
  if (!queue) return () => undefined;
  return repeat(RECOVERY_MS, () => {
    queue.recover(new Date(now() - RECOVERY_MS).toISOString()).catch(onError);
  });
}

function createContext(options: ApiOptions): AreaContext {
  const { engine, ports, database, now = Date.now, onError = warn } = options;
  const { definitions, access, publicRuns, reservations = memoryReservations(), limits = {} } = ports;
  return {
    ...{ engine, definitions, access, reservations, publicRuns, now, onError },
    audit: ports.audit ?? { record: () => Promise.resolve() },
    ...limitsOf(limits),
    queue: reservations.queue && new RunQueue({ engine, reservations, queue: reservations.queue, onError }),
    database: database?.database,
    compat: options.compat ?? false,
    heartbeatMs: HEARTBEAT_MS,
    repeat: options.repeat ?? repeat,
  };
}

function limitsOf({
  rate,
  usage,
  concurrency,
  capacity,
  timeouts = {},
  bodyBytes = {},
  publicInputLimits,
}: Limits) {
  return {
    limiter: rate ?? { take: () => undefined },
    ...{ usage, concurrency, timeouts },
    capacityLimiter: createCapacityLimiter(capacityLimits(capacity)),
    bodyBytes: new Map(Object.entries(bodyBytes)),
    publicInputLimits: { ...ANONYMOUS_LIMITS, ...publicInputLimits },
  };
}

function createFunctions<Areas extends readonly Area[]>(
  context: AreaContext,
  openedAreas: readonly OpenedArea[],
  base: { origin: string; basePath: string },
): AreaFunctions<Areas> {
  const functions = openedAreas.flatMap(({ area, services }) =>
    Object.entries<OperationsByName[string]>(area.operations).map(([name, operation]) => [
      name,
      createFunction(context, { operation, services }, base),
    ]),
  );
  return Object.fromEntries(functions) as AreaFunctions<Areas>;
}

function createFunction(
  context: AreaContext,
  servedOperation: ServedOperation,
  base: { origin: string; basePath: string },
) {
  const { operation } = servedOperation;
  return async (call: FunctionCall<object, object, unknown>): Promise<Reply> => {
    if (!call.principal && !operation.principals.includes('anonymous')) throw unauthorized(NO_CREDENTIAL);
    return admit(context, servedOperation, {
      ...base,
      principal: call.principal,
      workflowId: (call.path as { workflowId?: string } | undefined)?.workflowId,
      headers: new Headers(call.headers),
      signal: call.signal ?? new AbortController().signal,
      read: async (limits) => {
        const maxBytes = context.bodyBytes.get(operation.id) ?? Infinity;
        return {
          path: validate(operation.params, call.path ?? {}, 'Invalid path parameters'),
          query: validate(operation.query, call.query ?? {}, 'Invalid query parameters'),
          body: validateCallBody(operation, call.body, { limits, maxBytes, repeat: context.repeat }),
        };
      },
    });
  };
}
