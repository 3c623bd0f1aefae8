import { ActivityCancellationType, proxyActivities, workflowInfo } from '@temporalio/workflow';
import { defineRun } from '../../packages/temporal/dist/workflow/define-run.js';

/** The workflow of runs whose timers use the clock of a test: an activity of the test waits for each timer. */
const run: ReturnType<typeof defineRun> = defineRun(async (dueMs: number) => {
  const { waitUntil } = proxyActivities<{ waitUntil(dueMs: number): Promise<void> }>({
    taskQueue: `${workflowInfo().taskQueue}-clock`,
    startToCloseTimeout: '1 hour',
    cancellationType: ActivityCancellationType.TRY_CANCEL,
  });
  await waitUntil?.(dueMs);
});

export { run as 'heddle.run' };
