import { condition, defineQuery, defineSignal, proxyActivities, setHandler } from '@temporalio/workflow';

// Hand-written workflows of the same jobs, bundled for a separate worker.

/** The job of a workflow, and the task queue of its activities. */
export interface Order {
  size: number;
  queue: string;
  window: number;
}

function addActivity(taskQueue: string): (n: number) => Promise<number> {
  const { add } = proxyActivities<{ add(n: number): Promise<number> }>({
    taskQueue,
    startToCloseTimeout: '1 minute',
  });
  return add;
}

export async function empty({ size }: Order): Promise<number> {
  return size;
}

/** Runs a chain of activities; each gets the result of the previous one. */
export async function chain({ size, queue }: Order): Promise<number> {
  const add = addActivity(queue);
  let n = 0;
  for (let i = 0; i < size; i++) n = await add(n);
  return n;
}

/** Runs `size` activities, `window` at a time. */
export async function branches({ size, queue, window }: Order): Promise<number> {
  const add = addActivity(queue);
  const results: number[] = [];
  let next = 0;
  const runBranches = async (): Promise<void> => {
    while (next < size) {
      next++;
      results.push(await add(0));
    }
  };
  await Promise.all(Array.from({ length: Math.min(size, window) }, runBranches));
  return results.length;
}

/** Waits for a person. */
export async function pause(): Promise<number> {
  let isAnswered = false;
  setHandler(defineSignal('answer'), () => void (isAnswered = true));
  setHandler(defineQuery('waiting'), () => !isAnswered);
  await condition(() => isAnswered);
  return 1;
}
