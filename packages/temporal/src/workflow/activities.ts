import {
  ActivityCancellationType,
  isCancellation,
  proxyActivities,
  proxyLocalActivities,
  TemporalFailure,
} from '@temporalio/workflow';
import type {
  Profile,
  SegmentActivityInput,
  SegmentActivityResult,
  SettleActivityInput,
} from '../messages.ts';
import { SEGMENT_ACTIVITY, SETTLE_ACTIVITY } from '../messages.ts';

/** After this time without a heartbeat, the server gives an activity to another worker. */
const HEARTBEAT_TIMEOUT_MS = 10_000;
/** Longer than any block runs. The machine enforces the run's own time limit. */
const MAX_DURATION = '30 days';

/** The machine retries blocks. The server retries only activities that a worker lost or could not start. */
const RETRY_POLICY = { initialInterval: 200, backoffCoefficient: 2, maximumInterval: 30_000 } as const;

/** Few retries within a workflow task: each one keeps the run on this worker and adds to its history. */
const LOCAL_RETRY_POLICY = { ...RETRY_POLICY, maximumAttempts: 3 } as const;

type SegmentActivity = (input: SegmentActivityInput) => Promise<SegmentActivityResult>;

const localActivities = proxyLocalActivities<{
  [SEGMENT_ACTIVITY]: SegmentActivity;
  [SETTLE_ACTIVITY](input: SettleActivityInput): Promise<void>;
}>({
  startToCloseTimeout: '1 minute',
  retry: LOCAL_RETRY_POLICY,
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
});

const REMOTE_OPTIONS = {
  heartbeatTimeout: HEARTBEAT_TIMEOUT_MS,
  retry: RETRY_POLICY,
  // Waits for a cancelled activity, because it returns the results of the commands that it has completed.
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
} as const;

const remoteActivities = proxyActivities<{ [SETTLE_ACTIVITY](input: SettleActivityInput): Promise<void> }>({
  startToCloseTimeout: '1 minute',
  ...REMOTE_OPTIONS,
});

/** Returns the activity that executes commands on a task queue. `summary`: its label in the Temporal UI. */
export function remoteActivity(type: string, taskQueue: string, summary: string): SegmentActivity {
  const activity = proxyActivities<{ [type: string]: SegmentActivity }>({
    taskQueue,
    summary,
    startToCloseTimeout: MAX_DURATION,
    ...REMOTE_OPTIONS,
  })[type];
  if (!activity) throw new TypeError(`no activity ${type}`);
  return activity;
}

/** Returns the activity that runs a segment: compute blocks that share one activity. */
export function segmentActivity({ queues }: Profile): SegmentActivity {
  return remoteActivity(SEGMENT_ACTIVITY, queues.segments, 'compute');
}

/** Executes commands within the workflow task, or calls `fallback` if this worker cannot. */
export function runLocally(
  input: SegmentActivityInput,
  fallback: () => Promise<SegmentActivityResult>,
): Promise<SegmentActivityResult> {
  return localActivities[SEGMENT_ACTIVITY](input).catch(fallbackUnlessCancelled(fallback));
}

/**
 * Writes the journal, the record and the logs up to the run's current position. `isDurable`: the history contains all
 * events up to this position, so a local activity may write them.
 */
export function writeRunData(input: SettleActivityInput, isDurable = true): Promise<void> {
  if (!isDurable) return remoteActivities[SETTLE_ACTIVITY](input);
  return localActivities[SETTLE_ACTIVITY](input).catch(
    fallbackUnlessCancelled(() => remoteActivities[SETTLE_ACTIVITY](input)),
  );
}

/** Returns an error handler that calls `fallback`. It rethrows cancellations, and errors of workflow code. */
function fallbackUnlessCancelled<T>(fallback: () => Promise<T>): (error: unknown) => Promise<T> {
  return (error) => {
    if (isCancellation(error) || !(error instanceof TemporalFailure)) throw error;
    return fallback();
  };
}
