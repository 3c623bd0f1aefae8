import type { Context } from '@temporalio/activity';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import { SEGMENT_ACTIVITY, SETTLE_ACTIVITY } from '../messages.ts';

/** What an activity does: blocks that compute, an effect, or the writing of a run's record. */
export type Task = 'segment' | 'effect' | 'record';

/** What has been done of one kind of task since the worker began. */
export interface Tally {
  /** Block type of an effect; empty for other tasks. */
  type: string;
  task: Task;
  /** `true`: within a workflow task. */
  local: boolean;
  done: number;
  /** Ended with an error of the engine or the stores: the server has them tried again. Failures of blocks are no such errors. */
  failed: number;
  seconds: number;
}

/** Counts what the workers of a process do. */
export class Meter {
  private readonly tallies = new Map<string, Tally>();

  /** To be given to the workers. */
  readonly interceptor: ActivityInterceptorsFactory = (context: Context) => ({
    inbound: {
      execute: async (input, next) => {
        const tally = this.tallyOf(context);
        const beganMs = performance.now();
        try {
          const result = await next(input);
          tally.done++;
          return result;
        } catch (error) {
          tally.failed++;
          throw error;
        } finally {
          tally.seconds += (performance.now() - beganMs) / 1000;
        }
      },
    },
  });

  get all(): Tally[] {
    return [...this.tallies.values()].sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
  }

  private tallyOf({ info }: Context): Tally {
    const task = taskOf(info.activityType);
    const type = task === 'effect' ? info.activityType : '';
    const tally: Tally = { task, type, local: info.isLocal, done: 0, failed: 0, seconds: 0 };
    const name = nameOf(tally);
    const known = this.tallies.get(name);
    if (known) return known;
    this.tallies.set(name, tally);
    return tally;
  }
}

function nameOf({ task, type, local }: Tally): string {
  return `${task} ${type} ${local}`;
}

function taskOf(activityType: string): Task {
  if (activityType === SEGMENT_ACTIVITY) return 'segment';
  return activityType === SETTLE_ACTIVITY ? 'record' : 'effect';
}
