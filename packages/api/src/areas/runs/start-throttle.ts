/**
 * Decides when queued runs begin. While requests are being accepted, one run begins in each turn of the event loop;
 * otherwise all waiting runs begin. In a burst, clients get early responses, and queued runs still start steadily.
 */
export class RunStartThrottle {
  readonly #waiters: (() => void)[] = [];
  #acceptingCount = 0;
  #isWaitingForTurn = false;

  /** Calls `accept`, which accepts a request. */
  async whileAccepting<T>(accept: () => Promise<T>): Promise<T> {
    this.#acceptingCount += 1;
    try {
      return await accept();
    } finally {
      this.#acceptingCount -= 1;
    }
  }

  /** Resolves when the next run may begin, in the order of the calls. */
  wait(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiters.push(resolve);
    this.#next();
    return promise;
  }

  #next(): void {
    if (this.#isWaitingForTurn || this.#waiters.length === 0) return;
    this.#isWaitingForTurn = true;
    setImmediate(() => {
      this.#isWaitingForTurn = false;
      const startCount = this.#acceptingCount > 0 ? 1 : this.#waiters.length;
      for (const begin of this.#waiters.splice(0, startCount)) begin();
      this.#next();
    });
  }
}
