import type { Clock } from '@heddle/core';
import { openPostgres, openStores } from '@heddle/engine/stores';
import type { SharedStores } from '@heddle/engine/stores';
import type { RuntimeParts, RuntimeProvider } from '@heddle/engine/runtime';
import { TemporalRuntime } from './client/runtime.ts';
import { connect, DEFAULT_NAMESPACE } from './connection.ts';
import { profileOf, queuesOf } from './options.ts';
import type { DeploymentOptions, ServerOptions, StoreOptions, WorkerTuning } from './options.ts';
import { Crew } from './worker/crew.ts';

export type TemporalOptions = ServerOptions &
  StoreOptions &
  DeploymentOptions & {
    /** False: runs are run by workers of other processes. Default: this process runs some too. */
    worker?: boolean | WorkerTuning;
    /** Path of a workflow bundle to use in place of the one that comes with this package. */
    bundle?: string;
  };

/**
 * The runtime for `createEngine({ runtime })`: runs are workflows on a Temporal server, run by any number of workers.
 *
 * Opening throws RUNTIME_UNREACHABLE, and what the stores throw.
 */
export function temporal(options: TemporalOptions): RuntimeProvider {
  return {
    openStores: ({ clock }) => storesOf(options, clock),
    open: (parts) => openRuntime(parts, options),
  };
}

async function openRuntime(parts: RuntimeParts, options: TemporalOptions) {
  const { namespace = DEFAULT_NAMESPACE, queue, worker = true } = options;
  const connection = await connect(options);
  const profile = profileOf(options);
  try {
    const crew =
      worker === false
        ? undefined
        : await Crew.start(parts, {
            connection,
            namespace,
            queue,
            profile,
            tuning: worker === true ? {} : worker,
            ...(options.bundle !== undefined && { bundle: options.bundle }),
            report: (error) => parts.report(error, undefined),
          });
    const taskQueue = queuesOf(queue).engine;
    return {
      runtime: new TemporalRuntime({ runtime: parts, connection, namespace, taskQueue, profile }),
      close: async (graceMs: number): Promise<void> => {
        await crew?.stop(graceMs);
        await connection.close();
      },
    };
  } catch (error) {
    await connection.close();
    throw error;
  }
}

/** The stores that the options name. */
export async function storesOf(options: StoreOptions, clock: Clock | undefined): Promise<SharedStores> {
  if ('stores' in options) return { ...options.stores, close: () => undefined };
  if ('postgres' in options) return openPostgres({ url: options.postgres });
  return openStores({ data: options.data, shared: true, clock });
}
