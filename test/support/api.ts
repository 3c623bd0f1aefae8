import { createApi } from '@heddle/api';
import type { Api, ApiOptions, Area, Limiter, Limits } from '@heddle/api';
import type { Access, QueuedStart, Reservation } from '@heddle/api/ports';
import { createEngine } from '@heddle/engine';
import type { Engine, EngineOptions } from '@heddle/engine';
import { triggerTypes } from '@heddle/blocks/triggers';
import { keyAuthenticator, openServiceStore, serviceAreas, servicePorts } from '@heddle/service';
import type {
  ServiceAreaOptions,
  ServiceAreas,
  ServicePortOptions,
  ServiceStore,
  ServiceStoreOptions,
} from '@heddle/service';
import type { Json } from '@heddle/core';
import { afterAll } from 'vitest';
import { draftOf } from './draft.ts';
import { createPostgresDatabase } from './postgres.ts';
import { servedAreaOptions } from './served-operations.ts';
import { withoutUndefined } from './without-undefined.ts';

export { draftOf, openServiceStore };

/** Opens a new store of the service: in memory, or on the PostgreSQL server of the tests. */
export async function openStore(kind: 'sqlite' | 'postgres'): Promise<ServiceStore> {
  if (kind === 'sqlite') return openServiceStore({});
  return openServiceStore({ postgres: { url: await createPostgresDatabase() }, secret: 'x'.repeat(32) });
}

/** A response with its parsed JSON; `data` has the type that the test expects. */
export interface ParsedResponse<Data> {
  status: number;
  headers: Headers;
  body: unknown;
  data: Data;
}

export interface CallOptions {
  /** Null: no credential. */
  key?: string | null;
  body?: unknown;
  /** A body that is sent unchanged, instead of the JSON of `body`. */
  rawBody?: string;
  headers?: { [name: string]: string };
  signal?: AbortSignal;
}

export interface TestApi {
  api: Api<ServiceAreas>;
  engine: Engine;
  store: ServiceStore;
  /** A user who is an admin of the workspace. */
  userId: string;
  workspaceId: string;
  /** A personal key of the user. */
  key: string;
  call<Data = unknown>(method: string, path: string, options?: CallOptions): Promise<ParsedResponse<Data>>;
  fetch(method: string, path: string, options?: CallOptions): Promise<Response>;
  /** Deploys a workflow with this definition. Returns its id. */
  deploy(definition: Json): Promise<string>;
  /** Creates a workflow with this definition without deploying it. Returns its id. */
  createDraft(definition: Json): Promise<string>;
  /** Errors that the API reported to `onError`. */
  reportedErrors: unknown[];
}

export interface TestApiOptions
  extends
    Partial<Omit<ApiOptions, 'areas' | 'ports' | 'database'>>,
    Omit<Limits, 'rate'>,
    Omit<ServicePortOptions, 'limits'>,
    Partial<ServiceAreaOptions> {
  limiter?: Limiter;
  /** Wraps the access port of the store. The API uses the result. */
  wrapAccess?: (storeAccess: Access) => Access;
  storeOptions?: ServiceStoreOptions;
  engineOptions?: EngineOptions;
  /** Areas (modules of API operations with their own tables) in addition to those of the service. */
  areas?: readonly Area[];
}

/** Returns the engine options that separate the workspaces of the store. */
export function tenantOptionsOf({
  definitions: { resolveChild, tenant },
}: Pick<ServiceStore, 'definitions'>) {
  return { resolveChild, tenant };
}

/** Returns the API of a service over an engine and a store, like that of `heddle serve`. */
export function createServiceApi({
  engine,
  store,
  ...options
}: TestApiOptions & { engine: Engine; store: ServiceStore }): Promise<Api<ServiceAreas>> {
  const {
    usage,
    concurrency,
    capacity,
    timeouts,
    publicInputLimits,
    bodyBytes,
    limiter,
    areas = [],
    allowsPublicRuns,
    wrapAccess = (storeAccess) => storeAccess,
    ...areaAndApiOptions
  } = options;
  const {
    sealer,
    credentialProviders,
    sandboxes,
    tools,
    connectorTypes,
    describeBlocks,
    describeTools,
    environments,
    webhooks,
    feeds,
    webhookRegistrations,
    triggers,
    ...retentionAndApiOptions
  } = areaAndApiOptions;
  const { retention, ...apiOptions } = retentionAndApiOptions;
  const limits = withoutUndefined({
    usage,
    concurrency,
    capacity,
    timeouts,
    publicInputLimits,
    bodyBytes,
    rate: limiter,
  });
  const areaOptions = withoutUndefined({
    sealer,
    credentialProviders,
    sandboxes,
    tools,
    connectorTypes,
    describeBlocks,
    describeTools,
    environments,
    webhooks,
    feeds,
    webhookRegistrations,
    triggers,
    retention,
  });
  const ports = servicePorts(store, { limits, ...(allowsPublicRuns && { allowsPublicRuns }) });
  return createApi({
    authenticator: keyAuthenticator(store.keys, options.now),
    ...apiOptions,
    ...{ engine, database: store },
    ports: { ...ports, access: wrapAccess(ports.access) },
    areas: [...serviceAreas({ store, ...servedAreaOptions(store), ...areaOptions }), ...areas],
  });
}

export const ORIGIN = 'http://heddle.test';

/**
 * Returns options that give the values of `env` to every workspace. The option `env` of an engine is only for workflows
 * without a workspace.
 */
function withTenantEnvironments(options: EngineOptions = {}): EngineOptions {
  const { env } = options;
  if (!env) return options;
  const valuesOf = (names: readonly string[]) =>
    Object.fromEntries(names.flatMap((name) => (name in env ? [[name, env[name] as string]] : [])));
  return {
    environments: {
      names: () => Promise.resolve(Object.keys(env)),
      values: (_tenant, names) => Promise.resolve(valuesOf(names)),
    },
    ...options,
  };
}

/** Opens an API over an engine and a store in memory. All three are closed after the file's tests. */
export async function createTestApi(options: TestApiOptions = {}): Promise<TestApi> {
  const { storeOptions, engineOptions, ...apiOptions } = options;
  const store = options.store ?? (await openServiceStore(storeOptions));
  const engine =
    options.engine ??
    (await createEngine({
      ...tenantOptionsOf(store),
      triggers: triggerTypes,
      ...withTenantEnvironments(engineOptions),
    }));
  const reportedErrors: unknown[] = [];
  const api = await createServiceApi({
    onError: (error) => reportedErrors.push(error),
    ...apiOptions,
    engine,
    store,
  });
  afterAll(async () => {
    await api.close();
    await engine.close({ graceMs: 0 });
    await store.close();
  });
  const userId = await store.workspaces.createUser({
    email: `${crypto.randomUUID()}@heddle.test`,
    name: 'Ada',
  });
  const workspaceId = await store.workspaces.createWorkspace('Looms', userId);
  const { key } = await store.keys.create({ userId }, 'test');
  const fetch = (method: string, path: string, options: CallOptions = {}): Promise<Response> =>
    api.fetch(requestOf(method, path, { key, ...options }));
  const call = async <Data>(
    method: string,
    path: string,
    options?: CallOptions,
  ): Promise<ParsedResponse<Data>> => {
    const response = await fetch(method, path, options);
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.includes('json');
    const body: unknown = text === '' ? undefined : isJson ? JSON.parse(text) : text;
    return { status: response.status, headers: response.headers, body, data: (body as { data: Data })?.data };
  };
  const createDraft = async (definition: Json): Promise<string> => {
    const name = `Workflow ${crypto.randomUUID()}`;
    const createResponse = await call<{ id: string }>('POST', '/api/v2/workflows', {
      body: { workspaceId, name },
    });
    const { id } = createResponse.data;
    const putResponse = await call('PUT', `/api/v2/workflows/${id}/state`, { body: draftOf(definition) });
    if (putResponse.status !== 200) throw new Error(JSON.stringify(putResponse.body));
    return id;
  };
  const deploy = async (definition: Json): Promise<string> => {
    const id = await createDraft(definition);
    const response = await call('POST', `/api/v2/workflows/${id}/deploy`);
    if (response.status !== 200) throw new Error(JSON.stringify(response.body));
    return id;
  };
  return { api, engine, store, userId, workspaceId, key, call, fetch, createDraft, deploy, reportedErrors };
}

/** Returns the reservation of the run with this id in the engine. */
export async function findReservation(
  store: ServiceStore,
  engineRunId: string,
): Promise<Reservation | undefined> {
  return (await store.reservations.findByEngineRunIds([engineRunId])).get(engineRunId);
}

/** Returns the start data of a queued run; undefined if the run is not in the queue. */
export async function findQueuedStart(
  store: ServiceStore,
  engineRunId: string,
): Promise<QueuedStart | undefined> {
  return (await store.reservations.queue.list()).find((candidate) => candidate.engineRunId === engineRunId)
    ?.start;
}

/** Returns the error in the body of a response, in the format of the current or of the legacy API. */
export function errorIn(body: unknown): { code?: string; message: string; details?: { code?: string } } {
  const { error, details } = body as { error: unknown; details?: { code?: string } };
  if (typeof error !== 'string') return error as ReturnType<typeof errorIn>;
  return { message: error, ...(details && { details }) };
}

function requestOf(method: string, path: string, options: CallOptions): Request {
  const { key, body, rawBody, headers = {}, signal } = options;
  const text = rawBody ?? (body === undefined ? undefined : JSON.stringify(body));
  return new Request(ORIGIN + path, {
    method,
    headers: {
      ...(key != null && { 'X-API-Key': key }),
      ...(text !== undefined && { 'Content-Type': 'application/json' }),
      ...headers,
    },
    ...(text !== undefined && { body: text }),
    ...(signal && { signal }),
  });
}
