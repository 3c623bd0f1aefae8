import { once } from '../../admission/counter.ts';

/** How many queued runs begin in a turn of the event loop: between them, requests are read. */
const STARTS_PER_TURN = 8;
/** The same while requests are being accepted. */
const STARTS_WHILE_ACCEPTING = 1;

/**
 * Lets queued runs begin, and requests go first: in a burst, all its senders are answered early, and the runs, which are stored,
 * begin at a lower rate. The rate never falls to zero.
 */
export class StartPace {
  readonly #waiting: (() => void)[] = [];
  #accepting = 0;
  #isWaitingForTurn = false;

  /** Slows down the starts until the returned function is called, at the latest when the request is stored. */
  accepting(): () => void {
    this.#accepting += 1;
    return once(() => {
      this.#accepting -= 1;
    });
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
      const starts = this.#accepting > 0 ? STARTS_WHILE_ACCEPTING : STARTS_PER_TURN;
      for (const begin of this.#waiting.splice(0, starts)) begin();
      this.#next();
    });
  }
}
