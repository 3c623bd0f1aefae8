import PQueue from 'p-queue';

/** Runs `task` when a slot is free. An abort frees the slot, or removes the task from the queue. */
export type ConcurrencyLimiter = <T>(task: () => Promise<T>, signal: AbortSignal) => Promise<T>;

/**
 * Returns a limiter that runs at most `maxPerRun` tasks at the same time. `engineQueue` limits the tasks of all
 * limiters that share it. `onBegin` is called before each task.
 */
export function createLimiter(
  engineQueue: PQueue,
  maxPerRun: number,
  onBegin?: () => void,
): ConcurrencyLimiter {
  let queue: PQueue | undefined;
  return (task, signal) => {
    queue ??= new PQueue({ concurrency: maxPerRun });
    const begin = onBegin
      ? () => {
          onBegin();
          return task();
        }
      : task;
    return queue.add(() => engineQueue.add(begin, { signal }), { signal });
  };
}

/** The slot of one task at a limiter. The task can release it while it waits. */
export class Slot {
  readonly #limiter: ConcurrencyLimiter;
  readonly #signal: AbortSignal;
  #release: () => void = () => undefined;
  #isReleased = false;

  constructor(limiter: ConcurrencyLimiter, signal: AbortSignal) {
    this.#limiter = limiter;
    this.#signal = signal;
  }

  /** Runs `task` when a slot is free, and returns its result. */
  run<T>(task: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const begin = async (): Promise<void> => {
        try {
          resolve(await task());
        } catch (error) {
          reject(error as Error);
        } finally {
          this.#release();
        }
      };
      this.#acquire(() => void begin()).catch(reject);
    });
  }

  /** Calls `wait` without the slot. Resolves when a slot is free again. */
  async runWithout<T>(wait: () => Promise<T>): Promise<T> {
    if (this.#isReleased) return wait();
    this.#isReleased = true;
    this.#release();
    try {
      return await wait();
    } finally {
      await new Promise<void>((resolve, reject) => {
        this.#acquire(resolve).catch(reject);
      });
      this.#isReleased = false;
    }
  }

  /** Calls `begin` when a slot is free. Resolves when the slot is released. */
  #acquire(begin: () => void): Promise<void> {
    const acquireSlot = (): Promise<void> =>
      new Promise((release) => {
        this.#release = release;
        begin();
      });
    return this.#limiter(acquireSlot, this.#signal);
  }
}
