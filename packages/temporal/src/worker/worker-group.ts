import { fileURLToPath } from 'node:url';
import { Segments } from '@heddle/engine/runtime';
import type { RuntimeDependencies } from '@heddle/engine/runtime';
import { Worker } from '@temporalio/worker';
import type { WorkerOptions, WorkerStatus } from '@temporalio/worker';
import { createActivities } from '../activities/activities.ts';
import type { DeploymentConnection } from '../deployment.ts';
import { SEGMENT_ACTIVITY, SETTLE_ACTIVITY } from '../messages.ts';
import type { ProcessRole, WorkerTuning } from '../options.ts';
import { workflowCacheSize } from './memory.ts';
import { TaskMeter } from './task-meter.ts';
import { versioningOptions, waitForVersion } from './version.ts';

/** The prebuilt workflows: `npm run build` bundles them with the version of the SDK that runs them. */
const BUNDLE_PATH = fileURLToPath(new URL('../../dist/workflow-bundle.js', import.meta.url));

/** Minimum interval at which the SDK sends heartbeats. The server's responses contain cancel requests. */
const HEARTBEAT_THROTTLE_MS = 500;
/** Interval between checks for workers that the SDK has stopped by itself. */
const CHECK_INTERVAL_MS = 500;
/** Phases of stopping after a worker has failed. Short, because other workers wait to run the blocks. */
const FAILURE_STOP_OPTIONS = { drainMs: 5000, killMs: 5000 } as const;
const ALL_ROLES: readonly ProcessRole[] = ['engine', 'effects', 'segments'];

export interface WorkerGroupOptions {
  deployment: DeploymentConnection;
  tuning: WorkerTuning;
  /** Path of a bundle that replaces the prebuilt one. */
  bundlePath: string | undefined;
}

/** The phases of stopping a worker, in milliseconds. */
export interface StopOptions {
  /**
   * Grace period for running blocks. When it ends, blocks are cancelled; finished work is reported and other workers
   * retry the rest.
   */
  drainMs: number;
  /** Time for cancelled blocks to stop. When it ends, the worker is abandoned. */
  killMs: number;
}

type PollingWorker = Pick<Worker, 'run' | 'shutdown' | 'getState' | 'getStatus'>;

/** The workers of one process, one for each task queue. */
export class WorkerGroup {
  readonly roles: readonly ProcessRole[];
  readonly meter: TaskMeter;
  /**
   * Resolves when all workers have stopped (false) or were abandoned (true). Rejects with the error of a failed worker,
   * after the others have stopped.
   */
  readonly finished: Promise<boolean>;
  readonly #workers: readonly PollingWorker[];
  readonly #shutdown: AbortController;
  readonly #workerRuns: Promise<unknown>;
  readonly #abandonment = Promise.withResolvers<boolean>();
  #isStopping = false;
  #failure: { error: unknown } | undefined;

  /** Starts polling. `shutdown` is aborted when running blocks must stop. */
  constructor(
    workers: readonly PollingWorker[],
    {
      shutdown,
      meter,
      roles,
    }: { shutdown: AbortController; meter: TaskMeter; roles: readonly ProcessRole[] },
  ) {
    this.#workers = workers;
    this.#shutdown = shutdown;
    this.meter = meter;
    this.roles = roles;
    this.#workerRuns = Promise.all(
      workers.map((worker) => worker.run().catch((error: unknown) => this.#fail(error))),
    );
    this.finished = this.#waitUntilFinished();
    // Prevents an unhandled rejection if the host does not await `finished`.
    this.finished.catch(() => undefined);
  }

  /** Creates the workers and starts polling. Throws OPTIONS_INVALID for a version that the server does not support. */
  static async start(dependencies: RuntimeDependencies, options: WorkerGroupOptions): Promise<WorkerGroup> {
    const { roles = ALL_ROLES, version } = options.tuning;
    const { profile, queues } = options.deployment;
    const shutdown = new AbortController();
    const meter = new TaskMeter();
    const activities = createActivities({
      runtime: dependencies,
      segments: new Segments(dependencies),
      profile,
      shutdown: shutdown.signal,
    });
    const workers: Worker[] = [];
    for (const role of roles)
      workers.push(
        await Worker.create({
          ...commonOptions(options, meter),
          ...ROLE_OPTIONS_FACTORIES[role](activities, options),
          taskQueue: queues[role],
        }),
      );
    const group = new WorkerGroup(workers, { shutdown, meter, roles });
    if (version)
      await waitForVersion(options.deployment, version).catch(async (error: unknown) => {
        await group.stop({ drainMs: 0, killMs: FAILURE_STOP_OPTIONS.killMs });
        throw error;
      });
    return group;
  }

  /** True until the group stops or fails. */
  get isPolling(): boolean {
    return !this.#isStopping && this.#failure === undefined;
  }

  /** Returns the SDK's status of each worker. */
  statuses(): WorkerStatus[] {
    return this.#workers.map((worker) => worker.getStatus());
  }

  /** Stops the workers in phases. Resolves when all workers have stopped (false) or were abandoned (true). */
  async stop({ drainMs, killMs }: StopOptions): Promise<boolean> {
    this.#stopWorkers({ drainMs, killMs });
    return this.finished.catch(() => false);
  }

  #stopWorkers({ drainMs, killMs }: StopOptions): void {
    if (this.#isStopping) return;
    this.#isStopping = true;
    for (const worker of this.#workers) if (worker.getState() === 'RUNNING') worker.shutdown();
    const drainTimer = setTimeout(() => this.#shutdown.abort(new Error('The worker is stopping.')), drainMs);
    const killTimer = setTimeout(() => this.#abandonment.resolve(true), drainMs + killMs);
    const clearTimers = (): void => {
      clearTimeout(drainTimer);
      clearTimeout(killTimer);
    };
    this.finished.then(clearTimers, clearTimers);
  }

  #fail(error: unknown): void {
    this.#failure ??= { error };
    this.#stopWorkers(FAILURE_STOP_OPTIONS);
  }

  async #waitUntilFinished(): Promise<boolean> {
    // A failed worker reports its error only after its activities have ended. Its state shows the failure immediately.
    const checkTimer = setInterval(() => {
      if (this.#workers.some((worker) => worker.getState() !== 'RUNNING'))
        this.#stopWorkers(FAILURE_STOP_OPTIONS);
    }, CHECK_INTERVAL_MS);
    checkTimer.unref();
    const isAbandoned = await Promise.race([this.#workerRuns.then(() => false), this.#abandonment.promise]);
    clearInterval(checkTimer);
    if (this.#failure) throw this.#failure.error;
    return isAbandoned;
  }
}

type Activities = ReturnType<typeof createActivities>;
type CreateRoleOptions = (activities: Activities, options: WorkerGroupOptions) => Partial<WorkerOptions>;

function commonOptions(
  { deployment, tuning }: WorkerGroupOptions,
  meter: TaskMeter,
): Omit<WorkerOptions, 'taskQueue'> {
  const { connection, namespace, dataConverter } = deployment;
  return {
    connection,
    namespace,
    dataConverter,
    maxHeartbeatThrottleInterval: HEARTBEAT_THROTTLE_MS,
    defaultHeartbeatThrottleInterval: HEARTBEAT_THROTTLE_MS,
    maxConcurrentActivityTaskExecutions: tuning.maxConcurrentActivities ?? 100,
    // The group cancels blocks itself, so that their results are reported.
    shutdownGraceTime: '1 day',
    interceptors: { activity: [meter.interceptor] },
    ...(tuning.version && { workerDeploymentOptions: versioningOptions(tuning.version) }),
  };
}

const ROLE_OPTIONS_FACTORIES: { [role in ProcessRole]: CreateRoleOptions } = {
  engine: (activities, { bundlePath = BUNDLE_PATH, tuning }) => ({
    workflowBundle: { codePath: bundlePath },
    activities: {
      [SEGMENT_ACTIVITY]: activities[SEGMENT_ACTIVITY],
      [SETTLE_ACTIVITY]: activities[SETTLE_ACTIVITY],
    },
    maxCachedWorkflows: workflowCacheSize(tuning.maxCachedWorkflows),
    // After the loss of a worker, other workers get its runs within this time.
    stickyQueueScheduleToStartTimeout: '2 s',
    // Bugs in workflow code fail the run. By default the server would retry the workflow task forever.
    workflowFailureErrorTypes: { '*': ['TypeError', 'RangeError', 'ReferenceError'] },
  }),
  effects: (activities) => ({ activities: { default: activities.default } }),
  segments: (activities) => ({ activities: { [SEGMENT_ACTIVITY]: activities[SEGMENT_ACTIVITY] } }),
};
