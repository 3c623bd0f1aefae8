import { EngineError } from '@heddle/core';
import { systemClock, startTimer } from './clock.ts';
import { HeddleEngine } from './engine.ts';
import type { CodeService } from './execution/code-service.ts';
import { requireIsolation } from './isolation.ts';
import { builtInExecutors } from './executors/built-ins.ts';
import { createRegistry } from './executors/registry.ts';
import type { Registry } from './executors/registry.ts';
import { createPostgresEngine, validateLeaseMs } from './runtime/leased/create.ts';
import { serveControlRequests } from './runtime/local/control.ts';
import { LocalRuntime } from './runtime/local/local-runtime.ts';
import { createExclusiveOwnership } from './runtime/local/run-ownership.ts';
import { RunRegistry } from './runtime/local/run-registry.ts';
import {
  closeDependencies,
  fileHttpClientLoader,
  createRuntimeDependencies,
  reportAsWarning,
} from './assemble.ts';
import type { RuntimeProvider } from './runtime-port.ts';
import { openStores } from './store/open.ts';
import { openLeasedStores } from './store/open-postgres.ts';
import type { Stores } from './store/stores.ts';
import type { EngineOptions } from './options.ts';
import type { Engine } from './types.ts';

/**
 * Returns an engine over a data folder, in memory, on a PostgreSQL database, or on another runtime. The engine owns its
 * folder until it is closed, and recovers unfinished runs unless `recover` is false. A database is shared with other
 * processes, and each run is owned by one of them.
 *
 * Throws DATA_LOCKED, DATA_UNWRITABLE, DATA_FORMAT_UNSUPPORTED, JOURNAL_CORRUPT, EXECUTOR_DUPLICATE, OPTIONS_INVALID,
 * ISOLATION_TOO_LOW, DATA_UNREACHABLE, and the errors of the runtime.
 */
export async function createEngine(options: EngineOptions = {}): Promise<Engine> {
  // Invalid options are reported before anything is opened.
  const registry = createRegistry(builtInExecutors, options.blocks);
  await requireIsolation(options);
  requireOneLocation(options);
  if (options.runtime) return createOnRuntime(options.runtime, registry, options);
  if (options.postgres) return createOnPostgres(options.postgres, registry, options);
  const { data, durability, clock = systemClock, onError = reportAsWarning } = options;
  const stores = openStores({ data, durability, clock, onError: (error) => onError(error, undefined) });
  return createEngineOn(stores, registry, options);
}

/** Creates an engine on a database that other processes share. */
async function createOnPostgres(
  { leaseMs, ...database }: NonNullable<EngineOptions['postgres']>,
  registry: Registry,
  options: EngineOptions,
): Promise<Engine> {
  const timing = { leaseMs: validateLeaseMs(leaseMs) };
  return createPostgresEngine(await openLeasedStores(database), registry, options, timing);
}

/** Throws OPTIONS_INVALID if `postgres` is set together with another location for runs. */
function requireOneLocation({ runtime, data, postgres }: EngineOptions): void {
  const locations = Object.entries({ runtime, data, postgres }).filter(([, value]) => value !== undefined);
  if (!postgres || locations.length === 1) return;
  const names = locations.map(([name]) => `"${name}"`).join(' and ');
  throw new EngineError('OPTIONS_INVALID', `The options ${names} exclude each other: set only one of them.`);
}

/** Creates an engine on open stores. It closes them, but not `codeService`, which several engines may share. */
export async function createEngineOn(
  stores: Stores,
  registry: Registry,
  options: EngineOptions,
  codeService?: CodeService,
): Promise<Engine> {
  const { recover = true } = options;
  const dependencies = createRuntimeDependencies(stores, registry, options, codeService);
  const onAcquire = recover ? undefined : openedRunsRecorder(stores);
  const runs = new RunRegistry(dependencies, createExclusiveOwnership(stores.runs, onAcquire));
  const localDependencies = { ...dependencies, stores, runs };
  const stopControlRequests = await serveControlRequests(localDependencies, recover);
  const close = async (graceMs: number): Promise<void> => {
    await stopControlRequests();
    const graceTimer = startTimer(dependencies.clock, graceMs);
    await runs.close(graceTimer.whenElapsed);
    graceTimer.cancel();
    await (codeService ? dependencies.connections.waitUntilClosed() : closeDependencies(dependencies));
    stores.close();
  };
  try {
    if (recover) await runs.recoverAll();
  } catch (error) {
    await close(0);
    throw error;
  }
  const runtime = new LocalRuntime(localDependencies);
  return new HeddleEngine({
    ...localDependencies,
    runtime,
    httpClient: fileHttpClientLoader(options),
    close,
  });
}

/**
 * Records in the folder that this process has not opened any existing run yet. Returns a function that records an
 * opened run. Readers of the folder conclude that no process executes the other existing runs.
 */
function openedRunsRecorder(stores: Stores): (runId: string) => void {
  const openedRunIds = new Set<string>();
  stores.recordOpenedRuns?.([]);
  return (runId) => {
    if (openedRunIds.has(runId)) return;
    openedRunIds.add(runId);
    stores.recordOpenedRuns?.([...openedRunIds]);
  };
}

/** Creates an engine on a runtime that provides its stores. */
async function createOnRuntime(
  provider: RuntimeProvider,
  registry: Registry,
  options: EngineOptions,
): Promise<Engine> {
  const stores = await provider.openStores(options);
  const dependencies = createRuntimeDependencies(stores, registry, options);
  const closeStores = async (): Promise<void> => {
    await closeDependencies(dependencies);
    await stores.close();
  };
  try {
    const openRuntime = await provider.open(dependencies);
    return new HeddleEngine({
      ...dependencies,
      runtime: openRuntime.runtime,
      httpClient: fileHttpClientLoader(options),
      close: async (graceMs) => {
        await openRuntime.close(graceMs);
        await closeStores();
      },
    });
  } catch (error) {
    await closeStores();
    throw error;
  }
}
