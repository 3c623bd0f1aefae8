/** Work of a block that is under way. */
export class Job {
  /** It waits for a child run, which goes on by itself. */
  waits = false;
  /** Which try it is, from 1. */
  readonly attempt: number;
  /** Why its answer is no longer wanted. */
  stopped: Error | undefined;
  private controller: AbortController | undefined;
  private readonly waiting: () => void;

  /** `waiting` is told when all that is left is to wait for a child. */
  constructor(attempt: number, waiting: () => void) {
    this.attempt = attempt;
    this.waiting = waiting;
  }

  waitForChild(): void {
    this.waits = true;
    this.waiting();
  }

  /** Made when it is asked for: most blocks never look. */
  get signal(): AbortSignal {
    this.controller ??= new AbortController();
    if (this.stopped && !this.controller.signal.aborted) this.controller.abort(this.stopped);
    return this.controller.signal;
  }

  stop(reason: Error): void {
    this.stopped ??= reason;
    this.controller?.abort(this.stopped);
  }
}
