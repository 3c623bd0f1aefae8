import type { HeddleWorker, ProcessRole, WorkerTuning } from '@heddle/temporal';
import type { BlockImages } from '../block-images.ts';
import type { BlockOptions } from '../block-options.ts';
import { errorReporter } from '../engine-session.ts';
import { readEnv } from '../env.ts';
import { readEnvValues } from '../input/env-values.ts';
import type { EnvOptions } from '../input/env-values.ts';
import type { Io } from '../io.ts';
import { storeName } from '../store-options.ts';
import type { RuntimeOptions } from '../store-options.ts';
import { TEMPORAL_DEFAULTS, serverOptionsOf } from '../temporal/server-options.ts';
import { lazyWorkerStore, tenantPortsOf } from '../serve/service-store.ts';
import { startWorker } from '../temporal/start-worker.ts';
import { runUntilStopped } from '../temporal/run-until-stopped.ts';
import { UsageError } from '../usage-error.ts';
import type { TriggerWorker, TriggerWorkerOptions } from '../serve/trigger-worker.ts';
import { pauseLinksAt } from '../serve/pause-links.ts';

export type WorkerOptions = EnvOptions &
  RuntimeOptions &
  BlockOptions & {
    json: boolean;
    roles?: ProcessRole[];
    build?: NonNullable<WorkerTuning['version']>;
    health?: { host: string; port: number };
    /** How long running blocks may continue after the first signal, in seconds. */
    grace: number;
    /** Base URL of `heddle serve`, for the URLs of pauses. */
    origin?: string;
    /** True to start the runs of triggers (schedules, feeds and events) of workflows deployed to `heddle serve`. */
    triggers: boolean;
    /** A limits file, for the runs of triggers. */
    limits?: string;
  };

/** Executes runs on Temporal until the process receives a signal. */
export async function runWorker(io: Io, options: WorkerOptions): Promise<number> {
  if (options.limits !== undefined && !options.triggers)
    throw new UsageError('--limits applies only to runs of triggers.', 'Add --triggers.');
  const { queue = TEMPORAL_DEFAULTS.queue, build, grace, origin } = options;
  const processEnv = readEnv();
  const server = serverOptionsOf(options, processEnv);
  const env = await readEnvValues(options, processEnv);
  const versionOption = build && { version: build };
  const onError = errorReporter(io);
  // Workflows of different workspaces must not call each other or share processes. Workers check this.
  const workerStore = lazyWorkerStore(options, onError);
  let triggerWorker: TriggerWorker | undefined;
  try {
    const tenantPorts = tenantPortsOf(workerStore, env);
    const connectImages = (images: BlockImages) => workerStore.sandboxImages(images);
    const pauseLinks = origin === undefined ? undefined : await pauseLinksAt(origin);
    const worker = await startWorker(io, {
      ...options,
      ...{ server, queue, env, tenantPorts, connectImages, pauseLinks },
      ...versionOption,
    });
    if (options.triggers)
      triggerWorker = await openTriggerWorker(io, { ...options, env, tenantPorts, onError }, worker);
    return await runUntilStopped(io, withTriggers(worker, triggerWorker), {
      onReady: () => printReady(io, worker, { ...options, ...server, queue }),
      drainMs: grace * 1000,
    });
  } finally {
    await triggerWorker?.close();
    await workerStore.close();
  }
}

/** Starts the runs of triggers on the worker's Temporal server. Stops the worker if that fails. */
async function openTriggerWorker(
  io: Io,
  options: Omit<WorkerOptions, 'env'> & Pick<TriggerWorkerOptions, 'env' | 'tenantPorts' | 'onError'>,
  worker: HeddleWorker,
): Promise<TriggerWorker> {
  try {
    const { startTriggerWorker } = await import('../serve/trigger-worker.ts');
    const { origin: _origin, triggers: _triggers, ...rest } = options;
    return await startTriggerWorker(io, { ...rest, runtime: 'temporal', worker: false });
  } catch (error) {
    await worker.stop({ drainMs: 0 });
    throw error;
  }
}

/** Returns the worker with a `stop` that first stops starting runs of triggers. */
function withTriggers(
  worker: HeddleWorker,
  triggerWorker: TriggerWorker | undefined,
): Pick<HeddleWorker, 'finished' | 'stop'> {
  return {
    finished: worker.finished,
    async stop(options) {
      await triggerWorker?.close();
      await worker.stop(options);
    },
  };
}

type ReadyOptions = WorkerOptions & { address: string; namespace: string; queue: string };

function printReady(io: Io, worker: HeddleWorker, options: ReadyOptions): void {
  const { address, namespace, queue, postgres, data } = options;
  const roles = [...worker.status().roles, ...(options.triggers ? ['triggers'] : [])];
  const { url } = worker;
  if (options.json) {
    const readyMessage = { ready: true, address, namespace, queue, roles, pid: process.pid };
    const optionalProperties = {
      ...(postgres === undefined && { data }),
      ...(url !== undefined && { health: url }),
    };
    io.stdout.write(`${JSON.stringify({ ...readyMessage, ...optionalProperties })}\n`);
    return;
  }
  const health = url === undefined ? '' : `; health: ${url}/healthz`;
  io.stdout.write(
    `Ready: ${roles.join(', ')} on queue ${queue} at ${address}, namespace ${namespace}; ` +
      `data in ${storeName(options)}${health}\n`,
  );
}
