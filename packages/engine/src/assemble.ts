import { join } from 'node:path';
import { Definitions } from './definitions.ts';
import { systemClock } from './clock.ts';
import { environmentOf } from './environment.ts';
import type { Registry } from './executors/registry.ts';
import type { Outlet } from './executors/services.ts';
import { CodeService } from './local/code.ts';
import { Keeper } from './local/keeper.ts';
import type { RuntimeParts } from './local/runtime-parts.ts';
import { Values } from './local/values.ts';
import { createRedactor } from './secrets/redactor.ts';
import type { SharedStores } from './store/stores.ts';
import type { EngineOptions } from './options.ts';

/** An `api` block may wait this long for an answer unless it says otherwise. */
const HTTP_TIMEOUT_MS = 300_000;

const DEFAULT_CONCURRENCY = { engine: 64, run: 16 };

/** What runs of these options share, over stores that are open. */
export function partsOf(stores: SharedStores, registry: Registry, options: EngineOptions): RuntimeParts {
  const { clock = systemClock, onError: report = reportLoudly } = options;
  const values = new Values(stores.values);
  const { env, secrets } = environmentOf(options.env ?? {});
  return {
    stores,
    values,
    clock,
    registry,
    env,
    keeper: new Keeper(values, createRedactor(secrets)),
    code: new CodeService(sandboxOptions(options)),
    codeLimits: codeLimits(options),
    egress: outlet(options),
    concurrency: { ...DEFAULT_CONCURRENCY, ...options.concurrency },
    definitions: new Definitions({ stores, registry, limits: options.limits, now: () => clock.now() }),
    callee: options.callee ?? ((_caller, reference) => reference),
    tenant: options.tenant ?? (() => undefined),
    report,
  };
}

export function reportLoudly(error: unknown, runId: string | undefined): void {
  const what = error instanceof Error ? error.message : String(error);
  process.emitWarning(runId === undefined ? what : `run ${runId}: ${what}`, 'HeddleWarning');
}

function sandboxOptions({
  runtime,
  data = runtime?.data,
  egress,
  images,
  sandbox = {},
}: EngineOptions): ConstructorParameters<typeof CodeService>[0] {
  const { maxProcesses, isolation, ...limits } = sandbox;
  return {
    limits,
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

/** The guarded way out, loaded at its first use; `maxResponseBytes` in place of the egress's own limit. */
export function outlet({ egress }: EngineOptions, maxResponseBytes?: number): () => Promise<Outlet> {
  let opening: Promise<Outlet> | undefined;
  const limits = { timeoutMs: HTTP_TIMEOUT_MS, ...(maxResponseBytes !== undefined && { maxResponseBytes }) };
  return () =>
    (opening ??= import('@heddle/sandbox/egress').then(({ createEgress }) =>
      createEgress({ ...limits, ...egress }),
    ));
}
