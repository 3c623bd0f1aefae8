import { sleep } from '@temporalio/workflow';
import { defineRun } from './define-run.ts';

const run = defineRun((dueMs) => sleep(Math.max(0, dueMs - Date.now())));

// The export's name is the workflow type `RUN_WORKFLOW`.
export { run as 'heddle.run' };
