import { condition, defineQuery, defineSignal, proxyActivities, setHandler } from '@temporalio/workflow';

// Hand-written Temporal workflows that do what the benchmark's graphs do in Heddle. They are bundled for a separate
// worker.

/** The input of a workflow. `queue` is the task queue of its activities; `maxConcurrent` limits their concurrency. */
export interface WorkflowInput {
  size: number;
  queue: string;
  maxConcurrent: number;
}

function addActivity(taskQueue: string): (n: number) => Promise<number> {
  const { add } = proxyActivities<{ add(n: number): Promise<number> }>({
    taskQueue,
    startToCloseTimeout: '1 minute',
  });
  return add;
}

export async function empty({ size }: WorkflowInput): Promise<number> {
  return size;
}

/** Runs a chain of activities; each gets the result of the previous one. */
export async function chain({ size, queue }: WorkflowInput): Promise<number> {
  const add = addActivity(queue);
  let n = 0;
  for (let i = 0; i < size; i++) n = await add(n);
  return n;
}

/** Runs `size` activities, `maxConcurrent` at a time. */
export async function branches({ size, queue, maxConcurrent }: WorkflowInput): Promise<number> {
  const add = addActivity(queue);
  const results: number[] = [];
  let startedCount = 0;
  const runBranches = async (): Promise<void> => {
    while (startedCount < size) {
      startedCount++;
      results.push(await add(0));
    }
  };
  await Promise.all(Array.from({ length: Math.min(size, maxConcurrent) }, runBranches));
  return results.length;
}

/** Waits for the signal `answer`, as a run of Heddle waits for a person. */
export async function pause(): Promise<number> {
  let isAnswered = false;
  setHandler(defineSignal('answer'), () => void (isAnswered = true));
  setHandler(defineQuery('waiting'), () => !isAnswered);
  await condition(() => isAnswered);
  return 1;
}
