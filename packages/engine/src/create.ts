import { EngineError } from '@heddle/core';
import { systemClock } from './clock.ts';
import { HeddleEngine } from './engine.ts';
import { requireIsolation } from './isolation.ts';
import { builtInExecutors } from './executors/built-ins.ts';
import { createRegistry } from './executors/registry.ts';
import type { Registry } from './executors/registry.ts';
import { createLeasedEngine, leaseOf } from './runtime/leased/create.ts';
import { serveControl } from './runtime/local/control.ts';
import { LocalRuntime } from './runtime/local/local-runtime.ts';
import { Runtime } from './runtime/local/run-registry.ts';
import { soleTenure } from './runtime/local/run-ownership.ts';
import { fileOutlet, partsOf, reportLoudly } from './assemble.ts';
import type { RuntimeProvider } from './runtime-port.ts';
import { openStores } from './store/open.ts';
import { openLeased } from './store/open-postgres.ts';
import type { Stores } from './store/stores.ts';
import type { EngineOptions } from './options.ts';
import type { Engine } from './types.ts';
import { within } from './within.ts';

/**
 * An engine over a data folder, in memory, on a PostgreSQL database, or on another runtime. It owns the folder until it
 * is closed (DATA_LOCKED when another process does), and goes on with the runs that had not ended. A database it shares
 * with others: each run is held by one of them.
 *
 * Throws DATA_LOCKED, DATA_UNWRITABLE, DATA_FORMAT_UNSUPPORTED, EXECUTOR_DUPLICATE, OPTIONS_INVALID,
 * ISOLATION_TOO_LOW, DATA_UNREACHABLE, and what the runtime throws.
 */
export async function createEngine(options: EngineOptions = {}): Promise<Engine> {
  // A mistake in the options is told before anything is opened.
  const registry = createRegistry(builtInExecutors, options.blocks);
  await requireIsolation(options);
  expectOnePlace(options);
  if (options.runtime) return engineOver(options.runtime, registry, options);
  if (options.postgres) return engineAmongOthers(options.postgres, registry, options);
  const { data, durability, clock = systemClock, onError = reportLoudly } = options;
  const stores = openStores({ data, durability, clock, onError: (error) => onError(error, undefined) });
  return createEngineOn(stores, registry, options);
}

/** `createEngine` on a database that other processes run runs of as well. */
async function engineAmongOthers(
  { leaseMs, ...place }: NonNullable<EngineOptions['postgres']>,
  registry: Registry,
  options: EngineOptions,
): Promise<Engine> {
  const timing = { leaseMs: leaseOf(leaseMs) };
  return createLeasedEngine(await openLeased(place), registry, options, timing);
}

/** Throws OPTIONS_INVALID for options that name several places of runs. */
function expectOnePlace({ runtime, data, postgres }: EngineOptions): void {
  const named = Object.entries({ runtime, data, postgres }).filter(([, value]) => value !== undefined);
  if (!postgres || named.length === 1) return;
  const names = named.map(([name]) => `"${name}"`).join(' and ');
  throw new EngineError('OPTIONS_INVALID', `Runs are in one place: give one of ${names}.`);
}

/** `createEngine` on stores that are open; it closes them. */
export async function createEngineOn(
  stores: Stores,
  registry: Registry,
  options: EngineOptions,
): Promise<Engine> {
  const { takeUp = true } = options;
  const parts = partsOf(stores, registry, options);
  const { values, clock, definitions, environments, code, tenant } = parts;
  const runtime = new Runtime(parts, soleTenure(stores.runs, takeUp ? undefined : openedTeller(stores)));
  const local = { stores, values, clock, registry, definitions, environments, runtime, tenant };
  const stopControl = serveControl(local, takeUp);
  const close = async (graceMs: number): Promise<void> => {
    await stopControl();
    const grace = within(clock, graceMs);
    await runtime.close(grace.over);
    grace.cancel();
    await code.close();
    stores.close();
  };
  try {
    if (takeUp) await runtime.takeUp();
  } catch (error) {
    await close(0);
    throw error;
  }
  return new HeddleEngine({
    ...local,
    runtime: new LocalRuntime(local),
    httpClient: fileOutlet(options),
    close,
  });
}

/** Tells visitors of the folder which of its earlier runs this process has opened: the others are nobody's. */
function openedTeller(stores: Stores): (runId: string) => void {
  const opened = new Set<string>();
  stores.recordOpenedRuns?.([]);
  return (runId) => {
    if (opened.has(runId)) return;
    opened.add(runId);
    stores.recordOpenedRuns?.([...opened]);
  };
}

/** `createEngine` on a runtime that brings its stores. */
async function engineOver(
  provider: RuntimeProvider,
  registry: Registry,
  options: EngineOptions,
): Promise<Engine> {
  const stores = await provider.openStores(options);
  const parts = partsOf(stores, registry, options);
  const { values, clock, definitions, environments, code, tenant } = parts;
  const leave = async (): Promise<void> => {
    await code.close();
    await stores.close();
  };
  try {
    const opened = await provider.open(parts);
    return new HeddleEngine({
      stores,
      values,
      clock,
      registry,
      definitions,
      environments,
      tenant,
      runtime: opened.runtime,
      httpClient: fileOutlet(options),
      close: async (graceMs) => {
        await opened.close(graceMs);
        await leave();
      },
    });
  } catch (error) {
    await leave();
    throw error;
  }
}
