import type { Clock } from '@heddle/core';
import { systemClock } from './clock.ts';
import { Definitions } from './definitions.ts';
import { LocalEngine } from './engine.ts';
import { environmentOf } from './environment.ts';
import { builtInExecutors } from './executors/built-ins.ts';
import { createRegistry } from './executors/registry.ts';
import type { Registry } from './executors/registry.ts';
import type { Outlet } from './executors/services.ts';
import { CodeService } from './local/code.ts';
import { serveControl } from './local/control.ts';
import { Keeper } from './local/keeper.ts';
import { Runtime } from './local/runtime.ts';
import { Values } from './local/values.ts';
import { createRedactor } from './secrets/redactor.ts';
import { openStores } from './store/open.ts';
import type { Stores } from './store/stores.ts';
import type { Engine, EngineOptions } from './types.ts';

/** An `api` block may wait this long for an answer unless it says otherwise. */
const HTTP_TIMEOUT_MS = 300_000;

const DEFAULT_CONCURRENCY = { engine: 64, run: 16 };

/**
 * An engine over a data folder, or in memory. It owns the folder until it is closed (DATA_LOCKED when another process
 * does), and goes on with the runs that had not ended.
 *
 * Throws DATA_LOCKED, DATA_UNWRITABLE, DATA_FORMAT_UNSUPPORTED, EXECUTOR_DUPLICATE.
 */
export async function createEngine(options: EngineOptions = {}): Promise<Engine> {
  // A mistake in the options is told before anything is opened.
  const registry = createRegistry(builtInExecutors, options.blocks);
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
  const { clock = systemClock, onError: report = reportLoudly, takeUp = true } = options;
  const values = new Values(stores.values);
  const { env, secrets } = environmentOf(options.env ?? {});
  const definitions = new Definitions({ stores, registry, limits: options.limits, now: () => clock.now() });
  const code = new CodeService(sandboxOptions(options));
  const runtime = new Runtime({
    stores,
    values,
    clock,
    registry,
    env,
    keeper: new Keeper(values, createRedactor(secrets)),
    code,
    codeLimits: codeLimits(options),
    egress: outlet(options),
    concurrency: { ...DEFAULT_CONCURRENCY, ...options.concurrency },
    definitions,
    report,
  });
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
  return new LocalEngine({ stores, values, clock, registry, definitions, runtime, close });
}

/** Time that is over by itself, or no longer waited for: a timer left behind would keep the process alive. */
function within(clock: Clock, graceMs: number): { over: Promise<void>; cancel: () => void } {
  const { promise: over, resolve } = Promise.withResolvers<void>();
  if (graceMs > 0) return { over, cancel: clock.at(clock.now() + graceMs, resolve) };
  resolve();
  return { over, cancel: () => undefined };
}

function reportLoudly(error: unknown, runId: string | undefined): void {
  const what = error instanceof Error ? error.message : String(error);
  process.emitWarning(runId === undefined ? what : `run ${runId}: ${what}`, 'HeddleWarning');
}

function sandboxOptions({
  egress,
  sandbox = {},
}: EngineOptions): ConstructorParameters<typeof CodeService>[0] {
  const { maxProcesses, ...limits } = sandbox;
  return {
    limits,
    ...(maxProcesses !== undefined && { maxProcesses }),
    ...(egress && { egress }),
  };
}

function codeLimits({ sandbox = {} }: EngineOptions): { wallMs?: number; cpuMs?: number } {
  const { wallMs, cpuMs } = sandbox;
  return { ...(wallMs !== undefined && { wallMs }), ...(cpuMs !== undefined && { cpuMs }) };
}

function outlet({ egress }: EngineOptions): () => Promise<Outlet> {
  let opening: Promise<Outlet> | undefined;
  return () =>
    (opening ??= import('@heddle/sandbox/egress').then(({ createEgress }) =>
      createEgress({ timeoutMs: HTTP_TIMEOUT_MS, ...egress }),
    ));
}
