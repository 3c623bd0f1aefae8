import PQueue from 'p-queue';

/** Runs `work` when a slot is free; an abort frees the slot, whether the work has begun or not. */
export type Gate = <T>(work: () => Promise<T>, signal: AbortSignal) => Promise<T>;

/**
 * Returns a gate that runs at most `perRun` pieces of work at once, and over all gates with the same `engineQueue` as many
 * as that queue allows. `before` is called before each piece of work.
 */
export function createGate(engineQueue: PQueue, perRun: number, before?: () => void): Gate {
  let queue: PQueue | undefined;
  return (work, signal) => {
    queue ??= new PQueue({ concurrency: perRun });
    const begin = before
      ? () => {
          before();
          return work();
        }
      : work;
    return queue.add(() => engineQueue.add(begin, { signal }), { signal });
  };
}
