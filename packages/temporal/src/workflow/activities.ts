import { ActivityCancellationType, proxyActivities, proxyLocalActivities } from '@temporalio/workflow';
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

const local = proxyLocalActivities<{
  [SEGMENT_ACTIVITY](input: SegmentInput): Promise<SegmentResult>;
  [SETTLE_ACTIVITY](input: SettleInput): Promise<void>;
}>({
  startToCloseTimeout: '1 minute',
  retry: LOST,
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
});

/** Carries out commands within the workflow task. */
export const locally: Work = (input) => local[SEGMENT_ACTIVITY](input);

/** Writes the journal, the record and the logs of the run up to where it stands. */
export const settle = (input: SettleInput): Promise<void> => local[SETTLE_ACTIVITY](input);

export function segments({ queues }: Profile): Work {
  return remotely(SEGMENT_ACTIVITY, queues.segments, 'compute');
}
