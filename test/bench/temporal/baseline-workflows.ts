import { condition, defineQuery, defineSignal, proxyActivities, setHandler } from '@temporalio/workflow';

// The workflows that somebody would write by hand. They are bundled for a worker of their own.

/** A piece of work, and the queue of the worker that does it. */
export interface Order {
  size: number;
  queue: string;
  window: number;
}

function addingOn(taskQueue: string): (n: number) => Promise<number> {
  const { add } = proxyActivities<{ add(n: number): Promise<number> }>({
    taskQueue,
    startToCloseTimeout: '1 minute',
  });
  return add;
}

export async function empty({ size }: Order): Promise<number> {
  return size;
}

/** One activity after the other, each with what the one before has given. */
export async function chain({ size, queue }: Order): Promise<number> {
  const add = addingOn(queue);
  let n = 0;
  for (let i = 0; i < size; i++) n = await add(n);
  return n;
}

/** `size` activities, `window` of them at once. */
export async function branches({ size, queue, window }: Order): Promise<number> {
  const add = addingOn(queue);
  const results: number[] = [];
  let next = 0;
  const line = async (): Promise<void> => {
    while (next < size) {
      next++;
      results.push(await add(0));
    }
  };
  await Promise.all(Array.from({ length: Math.min(size, window) }, line));
  return results.length;
}

/** Waits for a person. */
export async function pause(): Promise<number> {
  let answered = false;
  setHandler(defineSignal('answer'), () => void (answered = true));
  setHandler(defineQuery('waiting'), () => !answered);
  await condition(() => answered);
  return 1;
}
