/**
 * Decides when queued runs begin. While requests are being accepted, one run begins in each turn of the event loop;
 * otherwise all waiting runs begin. In a burst, all senders are answered early, and stored runs still start steadily.
 */
export class StartPace {
  readonly #waiting: (() => void)[] = [];
  #accepting = 0;
  #isWaitingForTurn = false;

  /** Calls `accept`, which accepts a request. */
  async whileAccepting<T>(accept: () => Promise<T>): Promise<T> {
    this.#accepting += 1;
    try {
      return await accept();
    } finally {
      this.#accepting -= 1;
    }
  }

  /** Resolves when the next run may begin, in the order of the calls. */
  turn(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push(resolve);
    this.#next();
    return promise;
  }

  #next(): void {
    if (this.#isWaitingForTurn || this.#waiting.length === 0) return;
    this.#isWaitingForTurn = true;
    setImmediate(() => {
      this.#isWaitingForTurn = false;
      const starts = this.#accepting > 0 ? 1 : this.#waiting.length;
      for (const begin of this.#waiting.splice(0, starts)) begin();
      this.#next();
    });
  }
}
