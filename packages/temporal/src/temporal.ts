import type { RuntimeParts, RuntimeProvider } from '@heddle/engine/runtime';
import { Launcher } from './client/launcher.ts';
import { TemporalRuntime } from './client/runtime.ts';
import { openDeployment } from './deployment.ts';
import type { Deployment } from './deployment.ts';
import type { DeploymentOptions, ServerOptions, StoreOptions, WorkerTuning } from './options.ts';
import { storesOf } from './stores.ts';
import { sealedFor, watchStragglers } from './worker/create.ts';
import { Crew } from './worker/crew.ts';

export type TemporalOptions = ServerOptions &
  StoreOptions &
  DeploymentOptions & {
    /** False: runs are run by workers of other processes. Default: this process runs some too. */
    worker?: boolean | WorkerTuning;
    /** The server may hand a run that is started here to the worker of this process at once (from 1.29 on); default false. */
    eager?: boolean;
    /** Path of a workflow bundle to use in place of the one that comes with this package. */
    bundle?: string;
  };

/** What hangs after its time is left. */
const KILL_MS = 5000;

/**
 * The runtime for `createEngine({ runtime })`: runs are workflows on a Temporal server, run by any number of workers.
 *
 * Opening throws RUNTIME_UNREACHABLE, OPTIONS_INVALID, and what the stores throw.
 */
export function temporal(options: TemporalOptions): RuntimeProvider {
  return {
    ...('data' in options && { data: options.data }),
    openStores: ({ clock }) => storesOf(options, clock),
    open: (parts) => openRuntime(parts, options),
  };
}

async function openRuntime(parts: RuntimeParts, options: TemporalOptions) {
  const { worker = true, eager = false } = options;
  const deployment = await openDeployment(options, sealedFor(parts));
  const { connection, client, queues, profile } = deployment;
  try {
    const crew = worker === false ? undefined : await startCrew(parts, options, deployment);
    const launcher = new Launcher({ client, taskQueue: queues.engine, eager: eager && crew !== undefined });
    const stopWatching = watchStragglers(parts, deployment);
    return {
      runtime: new TemporalRuntime({ runtime: parts, client, launcher, profile }),
      close: async (graceMs: number): Promise<void> => {
        await stopWatching();
        const hangs = await crew?.stop({ drainMs: graceMs, killMs: KILL_MS });
        // A worker that hangs holds the connection: it goes with the process.
        if (hangs)
          parts.report(new Error('A worker hangs, and is left to the end of this process.'), undefined);
        else await connection.close();
      },
    };
  } catch (error) {
    await connection.close();
    throw error;
  }
}

async function startCrew(
  parts: RuntimeParts,
  { worker, bundle }: TemporalOptions,
  deployment: Deployment,
): Promise<Crew> {
  const tuning = typeof worker === 'object' ? worker : {};
  const crew = await Crew.start(parts, { deployment, tuning, bundle });
  crew.finished.catch((error: unknown) => parts.report(error, undefined));
  return crew;
}
