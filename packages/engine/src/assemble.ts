import { join } from 'node:path';
import { Definitions } from './definitions.ts';
import { systemClock } from './clock.ts';
import type { EgressPolicy } from '@heddle/sandbox/egress';
import type { Registry } from './executors/registry.ts';
import type { HttpClient } from './executors/services.ts';
import { CodeService } from './execution/code-service.ts';
import { Environments } from './execution/run-environment.ts';
import type { RuntimeParts } from './execution/runtime-parts.ts';
import { Values } from './records/values.ts';
import { MAX_FILE_BYTES } from './files/parse.ts';
import type { SharedStores } from './store/stores.ts';
import type { EngineOptions } from './options.ts';

/** An `api` block may wait this long for an answer unless it says otherwise. */
const HTTP_TIMEOUT_MS = 300_000;

const MIB = 2 ** 20;

const DEFAULT_CONCURRENCY = { engine: 64, run: 16 };

/** What runs of these options share, over stores that are open. */
export function partsOf(stores: SharedStores, registry: Registry, options: EngineOptions): RuntimeParts {
  const { clock = systemClock, onError: report = reportLoudly } = options;
  const values = new Values(stores.values);
  const { env = {}, environments: tenants, tenant = () => undefined } = options;
  return {
    stores,
    values,
    clock,
    registry,
    environments: new Environments({ env, tenants, tenant, values, clock, report }),
    code: new CodeService(sandboxOptions(options)),
    codeLimits: codeLimits(options),
    egress: httpClient(options),
    concurrency: { ...DEFAULT_CONCURRENCY, ...options.concurrency },
    definitions: new Definitions({ stores, registry, limits: options.limits, now: () => clock.now() }),
    resolveChild: options.resolveChild ?? ((_caller, reference) => ({ workflow: reference })),
    tenant,
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
  const { maxProcesses, isolation, resultMiB, ...rest } = sandbox;
  const chars = resultMiB === undefined ? {} : { resultChars: resultMiB * MIB, inputChars: resultMiB * MIB };
  return {
    limits: { ...rest, ...chars },
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

/** The guarded way out of blocks, loaded at its first use. */
export function httpClient({ egress }: EngineOptions): () => Promise<HttpClient> {
  return openedOnce({ timeoutMs: HTTP_TIMEOUT_MS, ...egress });
}

/**
 * The guarded way out to files whose addresses callers give. The exceptions are for what authors wrote: a caller would read
 * internal services by them, and need not know how they are made.
 */
export function fileOutlet({ egress }: EngineOptions): () => Promise<HttpClient> {
  const limits = { timeoutMs: HTTP_TIMEOUT_MS, maxResponseBytes: MAX_FILE_BYTES };
  return openedOnce({ ...limits, ...egress, exceptions: [], remedy: '' });
}

function openedOnce(policy: EgressPolicy): () => Promise<HttpClient> {
  let opening: Promise<HttpClient> | undefined;
  return () =>
    (opening ??= import('@heddle/sandbox/egress').then(({ createEgress }) => createEgress(policy)));
}
