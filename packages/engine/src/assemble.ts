import { join } from 'node:path';
import { EngineError } from '@heddle/core';
import type { BlockExecutor } from '@heddle/core';
import type { HostFeature } from '@heddle/core/drafts';
import { MAX_FILE_BYTES } from '@heddle/core/files';
import { Definitions } from './definitions.ts';
import { systemClock } from './clock.ts';
import type { EgressPolicy } from '@heddle/sandbox/egress';
import { builtInExecutors } from './executors/built-ins.ts';
import { createRegistry } from './executors/registry.ts';
import type { Registry } from './executors/registry.ts';
import type { ConfiguredService, HttpClient } from './executors/services.ts';
import { CodeService } from './execution/code-service.ts';
import { Connections } from './execution/run-connections.ts';
import { Environments } from './execution/run-environment.ts';
import { capsOf } from './execution/spending-caps.ts';
import type { RuntimeDependencies } from './execution/runtime-dependencies.ts';
import { Values } from './records/values.ts';
import type { SharedStores } from './store/stores.ts';
import type { EngineOptions } from './options.ts';

/** Default timeout of the requests of blocks, and timeout of downloads of input files. */
const HTTP_TIMEOUT_MS = 300_000;

const MIB = 2 ** 20;

/** Default maximum size of all files that the blocks of one run store. */
const MAX_RUN_FILE_BYTES = 1024 * 1024 * 1024;

const DEFAULT_CONCURRENCY = { engine: 64, run: 16 };

/**
 * Returns the dependencies that all runs share, from the engine's options and open stores. `codeService`: by default, a
 * new one with these options.
 */
export function createRuntimeDependencies(
  stores: SharedStores,
  registry: Registry,
  options: EngineOptions,
  codeService = new CodeService(sandboxOptions(options)),
): RuntimeDependencies {
  const { clock = systemClock, onError = reportAsWarning } = options;
  const values = new Values(stores.values);
  const { env = {}, environments: tenantEnvironments, tenant = () => undefined } = options;
  return {
    stores,
    values,
    clock,
    registry,
    environments: new Environments({ env, tenantEnvironments, tenant, values, clock, onError }),
    codeService,
    connections: new Connections(),
    codeLimits: codeLimits(options),
    blockHttpClient: blockClientLoader(options),
    service: serviceLookup(options),
    credentials: options.tenantCredentials,
    skills: options.tenantSkills,
    tenantFiles: options.tenantFiles,
    tenantKnowledge: options.tenantKnowledge,
    maxCost: capsOf(options.maxCost ?? {}),
    maxRunFileBytes: options.maxFileBytes?.run ?? MAX_RUN_FILE_BYTES,
    concurrency: { ...DEFAULT_CONCURRENCY, ...options.concurrency },
    definitions: new Definitions({
      ...{ stores, registry, limits: options.limits, triggers: options.triggers },
      features: featuresOf(options),
      now: () => clock.now(),
    }),
    pauseLinks: options.pauseLinks,
    notify: notifierOf(options.blocks ?? []),
    resolveChild: options.resolveChild ?? ((_caller, reference) => ({ workflow: reference })),
    tenant,
    separatesTenants: options.resolveChild !== undefined && options.tenant !== undefined,
    onError,
  };
}

/** Returns the features that the host provides for blocks. */
function featuresOf({ tenantFiles, tenantKnowledge }: EngineOptions): HostFeature[] {
  return [...(tenantFiles ? ['files' as const] : []), ...(tenantKnowledge ? ['knowledge' as const] : [])];
}

function notifierOf(blocks: readonly BlockExecutor[]): RuntimeDependencies['notify'] {
  const notifier = blocks.find((executor) => executor.notify !== undefined);
  return notifier && (async (context) => (await notifier.notify?.(context)) ?? []);
}

/** The dependencies that workers of other runtimes need to run blocks without an engine. */
export interface WorkerResources {
  dependencies: RuntimeDependencies;
  /** Stops the sandbox and waits for connections that are being closed. The stores stay open. */
  close(): Promise<void>;
}

/**
 * Returns the dependencies of an engine with these options, over open stores. Throws EXECUTOR_DUPLICATE,
 * OPTIONS_INVALID.
 */
export function createWorkerResources(
  stores: SharedStores,
  options: Omit<EngineOptions, 'runtime' | 'postgres' | 'durability'>,
): WorkerResources {
  const dependencies = createRuntimeDependencies(
    stores,
    createRegistry(builtInExecutors, options.blocks),
    options,
  );
  return { dependencies, close: () => closeDependencies(dependencies) };
}

/** Stops the sandbox, and waits for connections that are being closed. */
export async function closeDependencies({ codeService, connections }: RuntimeDependencies): Promise<void> {
  await Promise.all([codeService.close(), connections.waitUntilClosed()]);
}

/** Emits a Node warning: the default for errors that reach no caller. */
export function reportAsWarning(error: unknown, runId: string | undefined): void {
  const message = error instanceof Error ? error.message : String(error);
  process.emitWarning(runId === undefined ? message : `run ${runId}: ${message}`, 'HeddleWarning');
}

function sandboxOptions({
  runtime,
  data = runtime?.data,
  egress,
  images,
  sandbox = {},
}: EngineOptions): ConstructorParameters<typeof CodeService>[0] {
  const { maxProcesses, isolation, resultMiB, ...limits } = sandbox;
  const sizes = resultMiB === undefined ? {} : { resultChars: resultMiB * MIB, inputChars: resultMiB * MIB };
  return {
    limits: { ...limits, ...sizes },
    ...(maxProcesses !== undefined && { maxProcesses }),
    python: {
      ...(maxProcesses !== undefined && { maxProcesses }),
      ...(data !== undefined && { folder: join(data, 'sandbox') }),
    },
    ...(isolation !== undefined && { isolation }),
    ...(egress && { egress }),
    ...(images && { images }),
  };
}

function codeLimits({ sandbox = {} }: EngineOptions): { wallMs?: number; cpuMs?: number } {
  const { wallMs, cpuMs } = sandbox;
  return { ...(wallMs !== undefined && { wallMs }), ...(cpuMs !== undefined && { cpuMs }) };
}

/** Returns a function that loads the HTTP client of blocks at its first call. */
function blockClientLoader(options: EngineOptions): () => Promise<HttpClient> {
  return clientLoader(blockEgressPolicy(options));
}

function blockEgressPolicy({ egress, maxFileBytes }: EngineOptions): EgressPolicy {
  const { file } = maxFileBytes ?? {};
  return { timeoutMs: HTTP_TIMEOUT_MS, ...(file !== undefined && { maxFileBytes: file }), ...egress };
}

/**
 * Returns a function that looks up the configuration of a service. Throws OPTIONS_INVALID for an invalid URL or rate.
 */
function serviceLookup(options: EngineOptions): (name: string) => Promise<ConfiguredService> {
  const { services = {}, credentials = {}, serviceRates = {} } = options;
  for (const [name, { calls, seconds }] of Object.entries(serviceRates))
    if (!(calls > 0 && seconds > 0 && Number.isFinite(seconds / calls)))
      throw new EngineError(
        'OPTIONS_INVALID',
        `The rate of the service "${name}" must have calls and seconds above 0.`,
      );
  const defaultClient = blockClientLoader(options);
  const clients = new Map<string, () => Promise<HttpClient>>();
  for (const [name, url] of Object.entries(services)) {
    requireUrl(name, url);
    clients.set(name, clientLoader(blockEgressPolicy(options), url));
  }
  return async (name) => ({
    baseUrl: Object.hasOwn(services, name) ? services[name] : undefined,
    credential: Object.hasOwn(credentials, name) ? credentials[name] : undefined,
    rate: Object.hasOwn(serviceRates, name) ? serviceRates[name] : undefined,
    http: await (clients.get(name) ?? defaultClient)(),
  });
}

function requireUrl(name: string, url: string): void {
  if (URL.canParse(url) && /^(?:https?|postgresql):$/.test(new URL(url).protocol)) return;
  throw new EngineError(
    'OPTIONS_INVALID',
    `The URL of the service "${name}" is invalid: it must begin with http://, https:// or postgresql://.`,
  );
}

/**
 * Returns a function that loads the HTTP client for files whose URLs callers send. The client ignores the egress
 * exceptions, which are meant for URLs from workflow authors: with them, a caller could read internal services.
 */
export function fileHttpClientLoader({ egress }: EngineOptions): () => Promise<HttpClient> {
  const limits = { timeoutMs: HTTP_TIMEOUT_MS, maxResponseBytes: MAX_FILE_BYTES };
  return clientLoader({ ...egress, ...limits, exceptions: [], hint: '' });
}

/** Returns a function that loads the client at its first call. The client may also access `serviceUrl`. */
function clientLoader(policy: EgressPolicy, serviceUrl?: string): () => Promise<HttpClient> {
  let clientPromise: Promise<HttpClient> | undefined;
  return () =>
    (clientPromise ??= import('@heddle/sandbox/egress').then(({ createEgress, withException }) =>
      createEgress(serviceUrl === undefined ? policy : withException(policy, serviceUrl)),
    ));
}
