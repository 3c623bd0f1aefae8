import type { RuntimeDependencies, RuntimeProvider } from '@heddle/engine/runtime';
import { Launcher } from './client/launcher.ts';
import { TemporalRuntime } from './client/runtime.ts';
import { connectToDeployment, openSharedStores } from './deployment.ts';
import type { DeploymentConnection } from './deployment.ts';
import type { DeploymentOptions, ServerOptions, StoreLocation, WorkerTuning } from './options.ts';
import { createDecryptErrorHandler, startSweeper } from './worker/create-worker.ts';
import { WorkerGroup } from './worker/worker-group.ts';

export type TemporalOptions = ServerOptions &
  StoreLocation &
  DeploymentOptions & {
    /** False: only workers in other processes execute runs. Default: this process is a worker too. */
    worker?: boolean | WorkerTuning;
    /** The server (1.29 or newer) may give a run started here directly to this process's worker; default false. */
    eager?: boolean;
    /** Path of a workflow bundle that replaces the one of this package. */
    bundlePath?: string;
  };

/** Time for cancelled blocks to stop; a worker that needs longer is abandoned. */
const KILL_TIMEOUT_MS = 5000;

/**
 * Returns a runtime for `createEngine({ runtime })` that executes runs as workflows on a Temporal server, with any
 * number of workers.
 *
 * Opening it throws RUNTIME_UNREACHABLE, OPTIONS_INVALID, and errors of the stores.
 */
export function temporal(options: TemporalOptions): RuntimeProvider {
  return {
    ...('data' in options && { data: options.data }),
    openStores: ({ clock }) => openSharedStores(options, clock),
    open: (dependencies) => openRuntime(dependencies, options),
  };
}

async function openRuntime(dependencies: RuntimeDependencies, options: TemporalOptions) {
  const { worker = true, eager = false } = options;
  const deployment = await connectToDeployment(options, createDecryptErrorHandler(dependencies));
  const { connection, client, queues, profile } = deployment;
  try {
    const workerGroup = worker === false ? undefined : await startWorkers(dependencies, options, deployment);
    const launcher = new Launcher({
      client,
      taskQueue: queues.engine,
      eager: eager && workerGroup !== undefined,
    });
    const stopSweeper = startSweeper(dependencies, deployment);
    const runtime = new TemporalRuntime({ runtime: dependencies, client, launcher, profile });
    return {
      runtime,
      close: async (graceMs: number): Promise<void> => {
        await stopSweeper();
        const isAbandoned = await workerGroup?.stop({ drainMs: graceMs, killMs: KILL_TIMEOUT_MS });
        runtime.close();
        // A hanging worker still uses the connection, which then stays open until the process ends.
        if (isAbandoned)
          dependencies.onError(
            new Error('A worker did not stop in time. It ends with this process.'),
            undefined,
          );
        else await connection.close();
      },
    };
  } catch (error) {
    // A worker that never ran still uses the connection, which then stays open until the process ends.
    await connection.close().catch(() => undefined);
    throw error;
  }
}

async function startWorkers(
  dependencies: RuntimeDependencies,
  { worker, bundlePath }: TemporalOptions,
  deployment: DeploymentConnection,
): Promise<WorkerGroup> {
  const tuning = typeof worker === 'object' ? worker : {};
  const group = await WorkerGroup.start(dependencies, { deployment, tuning, bundlePath });
  group.finished.catch((error: unknown) => dependencies.onError(error, undefined));
  return group;
}
