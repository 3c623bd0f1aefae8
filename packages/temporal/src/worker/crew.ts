import { fileURLToPath } from 'node:url';
import type { RuntimeParts } from '@heddle/engine/runtime';
import { Segments } from '@heddle/engine/runtime';
import { Worker } from '@temporalio/worker';
import type { NativeConnection, WorkerOptions } from '@temporalio/worker';
import { activitiesOf } from '../activities/activities.ts';
import { SEGMENT_ACTIVITY, SETTLE_ACTIVITY } from '../messages.ts';
import type { Profile } from '../messages.ts';
import { queuesOf } from '../options.ts';
import type { Role, WorkerTuning } from '../options.ts';
import { cachedWorkflows } from './memory.ts';

/** The workflows, prebuilt: made by `npm run build` with the very version of the SDK that runs them. */
const BUNDLE = fileURLToPath(new URL('../../dist/workflow-bundle.js', import.meta.url));

/** Beats go out this often: with them comes word of a cancel. */
const BEAT_MS = 500;
const ALL: readonly Role[] = ['engine', 'effects', 'segments'];

export interface CrewOptions {
  connection: NativeConnection;
  namespace: string;
  queue: string | undefined;
  profile: Profile;
  tuning: WorkerTuning;
  /** Path of a bundle to use in place of the prebuilt one. */
  bundle?: string;
  report(error: unknown): void;
}

/** The workers of one process: one for each queue that it serves. */
export class Crew {
  private readonly workers: Worker[];
  private readonly running: Promise<unknown>;
  private readonly leaving: AbortController;

  private constructor(workers: Worker[], leaving: AbortController, report: (error: unknown) => void) {
    this.workers = workers;
    this.leaving = leaving;
    this.running = Promise.all(workers.map((worker) => worker.run())).catch(report);
  }

  /** Workers that have begun to poll. */
  static async start(parts: RuntimeParts, options: CrewOptions): Promise<Crew> {
    const { tuning, queue } = options;
    const { roles = ALL } = tuning;
    const segments = new Segments(parts);
    const leaving = new AbortController();
    const { profile } = options;
    const activities = activitiesOf({ runtime: parts, segments, profile, leaving: leaving.signal });
    const queues = queuesOf(queue);
    const workers: Worker[] = [];
    for (const role of roles)
      workers.push(
        await Worker.create({
          ...common(options),
          ...OPTIONS[role](activities, options),
          taskQueue: queues[role],
        }),
      );
    return new Crew(workers, leaving, (error) => options.report(error));
  }

  /** Begins nothing new, lets blocks finish for `graceMs`, and resolves when all have stopped: others run what is left. */
  async stop(graceMs: number): Promise<void> {
    for (const worker of this.workers) if (worker.getState() === 'RUNNING') worker.shutdown();
    const timer = setTimeout(() => this.leaving.abort(new Error('The worker has to stop.')), graceMs);
    await this.running;
    clearTimeout(timer);
  }
}

type Activities = ReturnType<typeof activitiesOf>;

function common({ connection, namespace, tuning }: CrewOptions): Omit<WorkerOptions, 'taskQueue'> {
  return {
    connection,
    namespace,
    maxHeartbeatThrottleInterval: BEAT_MS,
    defaultHeartbeatThrottleInterval: BEAT_MS,
    maxConcurrentActivityTaskExecutions: tuning.activities ?? 100,
    // Blocks are stopped by ourselves, and their results handed in.
    shutdownGraceTime: '1 day',
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
      maxCachedWorkflows: tuning.cachedWorkflows ?? cachedWorkflows(),
      // A worker that is gone keeps nobody waiting for long.
      stickyQueueScheduleToStartTimeout: '2 s',
      // Errors of our own end the run instead of being tried for ever.
      workflowFailureErrorTypes: { '*': ['TypeError', 'RangeError', 'ReferenceError'] },
    }),
    effects: (activities) => ({ activities: { default: activities.default } }),
    segments: (activities) => ({ activities: { [SEGMENT_ACTIVITY]: activities[SEGMENT_ACTIVITY] } }),
  };
