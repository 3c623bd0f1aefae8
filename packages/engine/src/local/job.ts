/** Work of a block that is under way. */
export class Job {
  /** It waits for a child run, which goes on by itself. */
  readonly child: boolean;
  /** Which try it is, from 1. */
  readonly attempt: number;
  /** Why its answer is no longer wanted. */
  stopped: Error | undefined;
  private controller: AbortController | undefined;

  constructor(child: boolean, attempt: number) {
    this.child = child;
    this.attempt = attempt;
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
