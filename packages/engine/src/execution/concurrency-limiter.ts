import PQueue from 'p-queue';

/** Runs `work` when a slot is free. An abort frees the slot, or removes the work from the queue. */
export type ConcurrencyLimiter = <T>(work: () => Promise<T>, signal: AbortSignal) => Promise<T>;

/**
 * Returns a limiter that runs at most `maxPerRun` pieces of work at the same time. `engineQueue` limits the work of all
 * limiters that share it. `onBegin` is called before each piece of work.
 */
export function createLimiter(
  engineQueue: PQueue,
  maxPerRun: number,
  onBegin?: () => void,
): ConcurrencyLimiter {
  let queue: PQueue | undefined;
  return (work, signal) => {
    queue ??= new PQueue({ concurrency: maxPerRun });
    const begin = onBegin
      ? () => {
          onBegin();
          return work();
        }
      : work;
    return queue.add(() => engineQueue.add(begin, { signal }), { signal });
  };
}

/** The slot of one piece of work at a limiter. The work can release it while it waits. */
export class Slot {
  readonly #limiter: ConcurrencyLimiter;
  readonly #signal: AbortSignal;
  #release: () => void = () => undefined;
  #isReleased = false;

  constructor(limiter: ConcurrencyLimiter, signal: AbortSignal) {
    this.#limiter = limiter;
    this.#signal = signal;
  }

  /** Runs `work` when a slot is free, and returns its result. */
  run<T>(work: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const begin = async (): Promise<void> => {
        try {
          resolve(await work());
        } catch (error) {
          reject(error as Error);
        } finally {
          this.#release();
        }
      };
      this.#hold(() => void begin()).catch(reject);
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
        this.#hold(resolve).catch(reject);
      });
      this.#isReleased = false;
    }
  }

  /** Calls `begin` when a slot is free. Resolves when the slot is released. */
  #hold(begin: () => void): Promise<void> {
    const holdSlot = (): Promise<void> =>
      new Promise((release) => {
        this.#release = release;
        begin();
      });
    return this.#limiter(holdSlot, this.#signal);
  }
}
