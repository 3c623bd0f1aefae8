import type { Context } from '@temporalio/activity';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import { SEGMENT_ACTIVITY, SETTLE_ACTIVITY } from '../messages.ts';

/** The kind of an activity: run compute blocks, run an effect block, or write a run's record. */
export type TaskKind = 'segment' | 'effect' | 'record';

/** Totals of one kind of task since the worker started. */
export interface TaskCounter {
  /** Block type of an effect; empty for other kinds. */
  type: string;
  task: TaskKind;
  /** True: a local activity, which runs within a workflow task. */
  local: boolean;
  done: number;
  /** Tasks that ended with an error of the engine or the stores, and are retried. A failed block counts as done. */
  failed: number;
  seconds: number;
}

/** Counts the activities of the workers of one process. */
export class TaskMeter {
  readonly #taskCounters = new Map<string, TaskCounter>();

  /** Interceptor for the options of each worker. */
  readonly interceptor: ActivityInterceptorsFactory = (context: Context) => ({
    inbound: {
      execute: async (input, next) => {
        const counter = this.#counterOf(context);
        const startedMs = performance.now();
        try {
          const result = await next(input);
          counter.done++;
          return result;
        } catch (error) {
          counter.failed++;
          throw error;
        } finally {
          counter.seconds += (performance.now() - startedMs) / 1000;
        }
      },
    },
  });

  get counters(): TaskCounter[] {
    return [...this.#taskCounters.values()].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
  }

  #counterOf({ info }: Context): TaskCounter {
    const task = taskOf(info.activityType);
    const type = task === 'effect' ? info.activityType : '';
    const counter: TaskCounter = { task, type, local: info.isLocal, done: 0, failed: 0, seconds: 0 };
    const key = keyOf(counter);
    const existingCounter = this.#taskCounters.get(key);
    if (existingCounter) return existingCounter;
    this.#taskCounters.set(key, counter);
    return counter;
  }
}

function keyOf({ task, type, local }: TaskCounter): string {
  return `${task} ${type} ${local}`;
}

function taskOf(activityType: string): TaskKind {
  if (activityType === SEGMENT_ACTIVITY) return 'segment';
  return activityType === SETTLE_ACTIVITY ? 'record' : 'effect';
}
