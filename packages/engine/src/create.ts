import type { Clock } from '@heddle/core';
import { systemClock } from './clock.ts';
import { HeddleEngine } from './engine.ts';
import { requireIsolation } from './isolation.ts';
import { builtInExecutors } from './executors/built-ins.ts';
import { createRegistry } from './executors/registry.ts';
import type { Registry } from './executors/registry.ts';
import { serveControl } from './local/control.ts';
import { LocalRuntime } from './local/local-runtime.ts';
import { Runtime } from './local/runtime.ts';
import { outlet, partsOf, reportLoudly } from './assemble.ts';
import { MAX_FILE_BYTES } from './files/sent.ts';
import type { RuntimeProvider } from './runtime-port.ts';
import { openStores } from './store/open.ts';
import type { Stores } from './store/stores.ts';
import type { EngineOptions } from './options.ts';
import type { Engine } from './types.ts';

/**
 * An engine over a data folder, in memory, or on another runtime. It owns the folder until it is closed (DATA_LOCKED
 * when another process does), and goes on with the runs that had not ended.
 *
 * Throws DATA_LOCKED, DATA_UNWRITABLE, DATA_FORMAT_UNSUPPORTED, EXECUTOR_DUPLICATE, OPTIONS_INVALID,
 * ISOLATION_TOO_LOW, and what the runtime throws.
 */
export async function createEngine(options: EngineOptions = {}): Promise<Engine> {
  // A mistake in the options is told before anything is opened.
  const registry = createRegistry(builtInExecutors, options.blocks);
  await requireIsolation(options);
  if (options.runtime) return engineOver(options.runtime, registry, options);
  const { data, durability, clock = systemClock, onError = reportLoudly } = options;
  const stores = openStores({ data, durability, clock, onError: (error) => onError(error, undefined) });
  return createEngineOn(stores, registry, options);
}

/** `createEngine` on stores that are open; it closes them. */
export async function createEngineOn(
  stores: Stores,
  registry: Registry,
  options: EngineOptions,
): Promise<Engine> {
  const { takeUp = true } = options;
  const parts = partsOf(stores, registry, options);
  const { values, clock, definitions, code } = parts;
  const runtime = new Runtime(parts);
  const stopControl = serveControl({ stores, runtime, registry, values, clock }, takeUp);
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
  const local = new LocalRuntime({ stores, values, clock, registry, definitions, runtime });
  return new HeddleEngine({
    stores,
    values,
    clock,
    registry,
    definitions,
    runtime: local,
    outlet: outlet(options, MAX_FILE_BYTES),
    close,
  });
}

/** `createEngine` on a runtime that brings its stores. */
async function engineOver(
  provider: RuntimeProvider,
  registry: Registry,
  options: EngineOptions,
): Promise<Engine> {
  const stores = await provider.openStores(options);
  const parts = partsOf(stores, registry, options);
  const { values, clock, definitions, code } = parts;
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
      runtime: opened.runtime,
      outlet: outlet(options, MAX_FILE_BYTES),
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

/** Time that is over by itself, or no longer waited for: a timer left behind would keep the process alive. */
function within(clock: Clock, graceMs: number): { over: Promise<void>; cancel: () => void } {
  const { promise: over, resolve } = Promise.withResolvers<void>();
  if (graceMs > 0) return { over, cancel: clock.at(clock.now() + graceMs, resolve) };
  resolve();
  return { over, cancel: () => undefined };
}
