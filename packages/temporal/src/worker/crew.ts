import { fileURLToPath } from 'node:url';
import type { RuntimeParts } from '@heddle/engine/runtime';
import { Segments } from '@heddle/engine/runtime';
import { Worker } from '@temporalio/worker';
import type { WorkerOptions, WorkerStatus } from '@temporalio/worker';
import { activitiesOf } from '../activities/activities.ts';
import type { Deployment } from '../deployment.ts';
import { SEGMENT_ACTIVITY, SETTLE_ACTIVITY } from '../messages.ts';
import type { Role, WorkerTuning } from '../options.ts';
import { workflowsToKeep } from './memory.ts';
import { Meter } from './meter.ts';
import { expectVersion, versioned } from './version.ts';

/** The workflows, prebuilt: made by `npm run build` with the very version of the SDK that runs them. */
const BUNDLE = fileURLToPath(new URL('../../dist/workflow-bundle.js', import.meta.url));

/** Beats go out this often: with them comes word of a cancel. */
const BEAT_MS = 500;
/** So often is looked whether the SDK has stopped a worker by itself. */
const WATCH_MS = 500;
/** What blocks get when a worker fails: others wait for what they run. */
const FAILED = { drainMs: 5000, killMs: 5000 } as const;
const ALL: readonly Role[] = ['engine', 'effects', 'segments'];

export interface CrewOptions {
  deployment: Deployment;
  tuning: WorkerTuning;
  /** Path of a bundle to use in place of the prebuilt one. */
  bundle: string | undefined;
}

/** How long a worker takes to stop, in milliseconds. */
export interface StopOptions {
  /** Blocks may finish for so long. Then they are stopped: what they have done is handed in, the rest is run by others. */
  drainMs: number;
  /** What hangs still is left after so much more. */
  killMs: number;
}

type Polling = Pick<Worker, 'run' | 'shutdown' | 'getState' | 'getStatus'>;

/** The workers of one process: one for each queue that it serves. */
export class Crew {
  readonly roles: readonly Role[];
  readonly meter: Meter;
  /** Resolves when all workers have stopped, or were left: then true. Rejects when one of them has failed, after all have stopped. */
  readonly finished: Promise<boolean>;
  private readonly workers: readonly Polling[];
  private readonly leaving: AbortController;
  private readonly running: Promise<unknown>;
  private readonly left = Promise.withResolvers<boolean>();
  private stopping = false;
  private failure: { error: unknown } | undefined;

  /** Has the workers begin to poll. `leaving` is aborted when what they run has to stop. */
  constructor(
    workers: readonly Polling[],
    { leaving, meter, roles }: { leaving: AbortController; meter: Meter; roles: readonly Role[] },
  ) {
    this.workers = workers;
    this.leaving = leaving;
    this.meter = meter;
    this.roles = roles;
    this.running = Promise.all(
      workers.map((worker) => worker.run().catch((error: unknown) => this.fail(error))),
    );
    this.finished = this.finish();
    // Whoever asks is told; a host that does not ask has been told in another way.
    this.finished.catch(() => undefined);
  }

  /** Workers that have begun to poll. Throws OPTIONS_INVALID for a version that the server does not take. */
  static async start(parts: RuntimeParts, options: CrewOptions): Promise<Crew> {
    const { roles = ALL } = options.tuning;
    const { profile, queues } = options.deployment;
    const leaving = new AbortController();
    const meter = new Meter();
    const activities = activitiesOf({
      runtime: parts,
      segments: new Segments(parts),
      profile,
      leaving: leaving.signal,
    });
    const workers: Worker[] = [];
    for (const role of roles)
      workers.push(
        await Worker.create({
          ...common(options, meter),
          ...OPTIONS[role](activities, options),
          taskQueue: queues[role],
        }),
      );
    const crew = new Crew(workers, { leaving, meter, roles });
    const { version } = options.tuning;
    if (version)
      await expectVersion(options.deployment, version).catch(async (error: unknown) => {
        await crew.stop({ drainMs: 0, killMs: FAILED.killMs });
        throw error;
      });
    return crew;
  }

  /** True until it stops, or is stopped. */
  get polling(): boolean {
    return !this.stopping && this.failure === undefined;
  }

  /** What the SDK says of the worker of each role. */
  statuses(): WorkerStatus[] {
    return this.workers.map((worker) => worker.getStatus());
  }

  /** Begins nothing new, and resolves when all has stopped, or was left: true then. */
  async stop({ drainMs, killMs }: StopOptions): Promise<boolean> {
    this.halt({ drainMs, killMs });
    return this.finished.catch(() => false);
  }

  private halt({ drainMs, killMs }: StopOptions): void {
    if (this.stopping) return;
    this.stopping = true;
    for (const worker of this.workers) if (worker.getState() === 'RUNNING') worker.shutdown();
    const drain = setTimeout(() => this.leaving.abort(new Error('The worker has to stop.')), drainMs);
    const kill = setTimeout(() => this.left.resolve(true), drainMs + killMs);
    const clear = (): void => {
      clearTimeout(drain);
      clearTimeout(kill);
    };
    this.finished.then(clear, clear);
  }

  private fail(error: unknown): void {
    this.failure ??= { error };
    this.halt(FAILED);
  }

  private async finish(): Promise<boolean> {
    // A worker that has failed waits for its activities before it says so, and those of others are not told.
    const watch = setInterval(() => {
      if (this.workers.some((worker) => worker.getState() !== 'RUNNING')) this.halt(FAILED);
    }, WATCH_MS);
    watch.unref();
    const hangs = await Promise.race([this.running.then(() => false), this.left.promise]);
    clearInterval(watch);
    if (this.failure) throw this.failure.error;
    return hangs;
  }
}

type Activities = ReturnType<typeof activitiesOf>;

function common({ deployment, tuning }: CrewOptions, meter: Meter): Omit<WorkerOptions, 'taskQueue'> {
  const { connection, namespace, dataConverter } = deployment;
  return {
    connection,
    namespace,
    dataConverter,
    maxHeartbeatThrottleInterval: BEAT_MS,
    defaultHeartbeatThrottleInterval: BEAT_MS,
    maxConcurrentActivityTaskExecutions: tuning.activities ?? 100,
    // Blocks are stopped by ourselves, and their results handed in.
    shutdownGraceTime: '1 day',
    interceptors: { activity: [meter.interceptor] },
    ...(tuning.version && { workerDeploymentOptions: versioned(tuning.version) }),
  };
}

const OPTIONS: { [role in Role]: (activities: Activities, options: CrewOptions) => Partial<WorkerOptions> } =
  {
    engine: (activities, { bundle = BUNDLE, tuning }) => ({
      workflowBundle: { codePath: bundle },
      activities: {
        [SEGMENT_ACTIVITY]: activities[SEGMENT_ACTIVITY],
        [SETTLE_ACTIVITY]: activities[SETTLE_ACTIVITY],
      },
      maxCachedWorkflows: workflowsToKeep(tuning.cachedWorkflows),
      // A worker that is gone keeps nobody waiting for long.
      stickyQueueScheduleToStartTimeout: '2 s',
      // Errors of our own end the run instead of being tried for ever.
      workflowFailureErrorTypes: { '*': ['TypeError', 'RangeError', 'ReferenceError'] },
    }),
    effects: (activities) => ({ activities: { default: activities.default } }),
    segments: (activities) => ({ activities: { [SEGMENT_ACTIVITY]: activities[SEGMENT_ACTIVITY] } }),
  };
