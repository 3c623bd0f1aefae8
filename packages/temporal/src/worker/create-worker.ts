import { createWorkerResources, RemoteRuns, requireIsolation } from '@heddle/engine/runtime';
import type { RuntimeDependencies } from '@heddle/engine/runtime';
import type { SharedStores } from '@heddle/engine/stores';
import { Launcher } from '../client/launcher.ts';
import { UnstartedRunSweeper } from '../client/unstarted-run-sweeper.ts';
import { connectToDeployment, openSharedStores } from '../deployment.ts';
import type { DeploymentConnection } from '../deployment.ts';
import type { OnDecryptError } from '../encryption.ts';
import type {
  BlockOptions,
  DeploymentOptions,
  ServerOptions,
  StoreLocation,
  WorkerTuning,
} from '../options.ts';
import { WorkerGroup } from './worker-group.ts';
import type { StopOptions } from './worker-group.ts';
import { openEndpoint } from './endpoint.ts';
import type { Endpoint, EndpointOptions } from './endpoint.ts';
import { statusOf } from './status.ts';
import type { WorkerStatus } from './status.ts';

export type WorkerOptions = ServerOptions &
  StoreLocation &
  DeploymentOptions &
  BlockOptions & {
    tuning?: WorkerTuning;
    /** Address for `/healthz` and `/metrics`; default: none. */
    http?: EndpointOptions;
    /** Path of a workflow bundle that replaces the one of this package. */
    bundlePath?: string;
  };

/** A polling worker: it executes runs until it is stopped. */
export interface HeddleWorker {
  /**
   * Resolves when the worker has stopped. If the worker fails, rejects with the error when its running blocks have
   * stopped.
   */
  readonly finished: Promise<void>;
  /** Base URL of `/healthz` and `/metrics`. */
  readonly url: string | undefined;
  /**
   * Stops the worker. It starts no more work and lets running blocks finish for `drainMs` (default 10,000). Then it
   * cancels them and reports the finished work. Resolves when all finished work is reported, at most `killMs` (default
   * 5,000) later.
   */
  stop(options?: Partial<StopOptions>): Promise<void>;
  status(): WorkerStatus;
}

const DEFAULT_STOP_OPTIONS: StopOptions = { drainMs: 10_000, killMs: 5000 };

/**
 * Starts a worker for the runs of a deployment. Resolves when the worker polls.
 *
 * Throws RUNTIME_UNREACHABLE, OPTIONS_INVALID, EXECUTOR_DUPLICATE, ISOLATION_TOO_LOW, and errors of the stores.
 */
export async function createWorker(options: WorkerOptions): Promise<HeddleWorker> {
  const stores = await openSharedStores(options, options.clock);
  const closeSteps: (() => Promise<void> | void)[] = [() => stores.close()];
  const close = async (): Promise<void> => {
    for (const step of closeSteps.splice(0).reverse()) await step();
  };
  try {
    return await openWorker(options, { stores, closeSteps, close });
  } catch (error) {
    await close();
    throw error;
  }
}

interface OpenContext {
  stores: SharedStores;
  /** Close functions, in the order of opening. */
  closeSteps: (() => Promise<void> | void)[];
  close: () => Promise<void>;
}

async function openWorker(
  options: WorkerOptions,
  { stores, closeSteps, close }: OpenContext,
): Promise<HeddleWorker> {
  const { tuning = {}, bundlePath, http } = options;
  await requireIsolation(options);
  const resources = createWorkerResources(stores, options);
  closeSteps.push(() => resources.close());
  const deployment = await connectToDeployment(options, createDecryptErrorHandler(resources.dependencies));
  // Closing fails while a worker that hangs or never ran uses the connection. It then stays open until the process
  // ends.
  closeSteps.push(() => deployment.connection.close().catch(() => undefined));
  const group = await WorkerGroup.start(resources.dependencies, { deployment, tuning, bundlePath });
  const worker = new RunningWorker(group, close, () => resources.dependencies.codeService.stats());
  closeSteps.push(() =>
    group.stop({ drainMs: 0, killMs: DEFAULT_STOP_OPTIONS.killMs }).then(() => undefined),
  );
  if (group.roles.includes('engine')) closeSteps.push(startSweeper(resources.dependencies, deployment));
  if (http) {
    const endpoint = await openEndpoint(http, () => worker.status());
    worker.endpoint = endpoint;
    closeSteps.push(() => endpoint.close());
  }
  return worker;
}

/** Returns a handler that reports payloads that cannot be decrypted, and suspends their run with the reason. */
export function createDecryptErrorHandler(dependencies: RuntimeDependencies): OnDecryptError {
  const runs = new RemoteRuns(dependencies);
  return (error, runId) => {
    dependencies.onError(error, runId);
    if (runId !== undefined)
      runs
        .suspend(runId, error.message)
        .catch((suspendError: unknown) => dependencies.onError(suspendError, runId));
  };
}

/** Starts the sweeper of unstarted runs. Returns a function that stops it. */
export function startSweeper(
  runtime: RuntimeDependencies,
  { client, queues, profile }: DeploymentConnection,
) {
  const launcher = new Launcher({ client, taskQueue: queues.engine, eager: false });
  const sweeper = new UnstartedRunSweeper({ runtime, launcher, profile });
  sweeper.start();
  return (): Promise<void> => sweeper.stop();
}

class RunningWorker implements HeddleWorker {
  readonly finished: Promise<void>;
  endpoint: Endpoint | undefined;
  readonly #group: WorkerGroup;
  readonly #readSandboxStats: () => WorkerStatus['sandbox'];
  #state: 'running' | 'stopped' | 'failed' = 'running';

  constructor(
    group: WorkerGroup,
    close: () => Promise<void>,
    readSandboxStats: () => WorkerStatus['sandbox'],
  ) {
    this.#group = group;
    this.#readSandboxStats = readSandboxStats;
    this.finished = this.#run(close);
    this.finished.catch(() => undefined);
  }

  get url(): string | undefined {
    return this.endpoint?.url;
  }

  async stop(options: Partial<StopOptions> = {}): Promise<void> {
    await this.#group.stop({ ...DEFAULT_STOP_OPTIONS, ...options });
    await this.finished.catch(() => undefined);
  }

  status(): WorkerStatus {
    const group = this.#group;
    const activeState = group.isPolling ? 'polling' : 'draining';
    return statusOf(group, this.#state === 'running' ? activeState : this.#state, this.#readSandboxStats());
  }

  async #run(close: () => Promise<void>): Promise<void> {
    try {
      await this.#group.finished;
      this.#state = 'stopped';
    } catch (error) {
      this.#state = 'failed';
      throw error;
    } finally {
      await close();
    }
  }
}
