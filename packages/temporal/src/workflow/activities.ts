import {
  ActivityCancellationType,
  isCancellation,
  proxyActivities,
  proxyLocalActivities,
  TemporalFailure,
} from '@temporalio/workflow';
import type { Profile, SegmentInput, SegmentResult, SettleInput } from '../messages.ts';
import { SEGMENT_ACTIVITY, SETTLE_ACTIVITY } from '../messages.ts';

/** A lost worker is noticed after this time: what it ran is run again by another. */
const HEARTBEAT_MS = 10_000;
/** No block runs longer by itself; what a run may take as a whole is its deadline's affair. */
const LONGEST = '30 days';

/** Tries of blocks are the machine's: the server tries again only what a worker has lost, or could not begin. */
const LOST = { initialInterval: 200, backoffCoefficient: 2, maximumInterval: 30_000 } as const;

type Work = (input: SegmentInput) => Promise<SegmentResult>;

/** Carries out commands in an activity of this type. */
export function remotely(type: string, taskQueue: string, summary: string): Work {
  const work = proxyActivities<{ [type: string]: Work }>({
    taskQueue,
    summary,
    startToCloseTimeout: LONGEST,
    heartbeatTimeout: HEARTBEAT_MS,
    retry: LOST,
    // What has been done so far comes back as a result: a cancel only asks for it.
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
  })[type];
  if (!work) throw new TypeError(`no activity ${type}`);
  return work;
}

/** Within a workflow task only what is soon done is tried again: a task that goes on keeps the run on this worker, and fills its history. */
const SOON = { ...LOST, maximumAttempts: 3 } as const;

const local = proxyLocalActivities<{
  [SEGMENT_ACTIVITY](input: SegmentInput): Promise<SegmentResult>;
  [SETTLE_ACTIVITY](input: SettleInput): Promise<void>;
}>({
  startToCloseTimeout: '1 minute',
  retry: SOON,
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
});

const remote = proxyActivities<{ [SETTLE_ACTIVITY](input: SettleInput): Promise<void> }>({
  startToCloseTimeout: '1 minute',
  retry: LOST,
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
});

/** Carries out commands within the workflow task; `elsewhere` where this worker cannot, as others may. */
export function locally(
  input: SegmentInput,
  elsewhere: () => Promise<SegmentResult>,
): Promise<SegmentResult> {
  return local[SEGMENT_ACTIVITY](input).catch(unlessCancelled(elsewhere));
}

/** Writes the journal, the record and the logs of the run up to where it stands. `firm`: all of that stands in the history. */
export function settle(input: SettleInput, firm = true): Promise<void> {
  if (!firm) return remote[SETTLE_ACTIVITY](input);
  return local[SETTLE_ACTIVITY](input).catch(unlessCancelled(() => remote[SETTLE_ACTIVITY](input)));
}

function unlessCancelled<T>(elsewhere: () => Promise<T>): (error: unknown) => Promise<T> {
  return (error) => {
    if (isCancellation(error) || !(error instanceof TemporalFailure)) throw error;
    return elsewhere();
  };
}

export function segments({ queues }: Profile): Work {
  return remotely(SEGMENT_ACTIVITY, queues.segments, 'compute');
}
