/** The state of a child run that a block waits for: being recorded, running, or waiting for a person or a timer. */
export type ChildState = 'starting' | 'running' | 'human' | 'time';

/** The child runs that one attempt of a block waits for. */
export class ChildWaits {
  readonly #states = new Map<string, ChildState>();
  readonly #onChange: () => void;
  #otherWorkDone: Promise<unknown> | undefined;
  #hasNoOtherWork = false;

  /** `onChange`: called after each change of the children, and when the attempt has no other work left. */
  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  get size(): number {
    return this.#states.size;
  }

  /** True if the attempt only waits for child runs, and all of them are recorded. */
  get isOnlyWaiting(): boolean {
    return this.#hasNoOtherWork && this.size > 0 && !this.#hasChildIn('starting');
  }

  /** The reason why the attempt cannot continue now; null if it can. */
  get blockedOn(): 'human' | 'time' | null {
    if (!this.isOnlyWaiting || this.#hasChildIn('running')) return null;
    return this.#hasChildIn('time') ? 'time' : 'human';
  }

  /**
   * Adds a child. `otherWorkDone` resolves when the block only waits for child runs; undefined: the block does no other
   * work.
   */
  add(runId: string, state: ChildState, otherWorkDone: Promise<unknown> | undefined): void {
    this.#states.set(runId, state);
    this.#otherWorkDone = otherWorkDone;
    this.#hasNoOtherWork = otherWorkDone === undefined;
    void otherWorkDone?.then(() => {
      // This promise belongs to an earlier period of waiting.
      if (this.#otherWorkDone !== otherWorkDone) return;
      this.#hasNoOtherWork = true;
      this.#onChange();
    });
    this.#onChange();
  }

  set(runId: string, state: ChildState): void {
    if (!this.#states.has(runId)) return;
    this.#states.set(runId, state);
    this.#onChange();
  }

  remove(runId: string): void {
    this.#states.delete(runId);
    if (this.size === 0) this.#otherWorkDone = undefined;
    this.#onChange();
  }

  #hasChildIn(state: ChildState): boolean {
    return [...this.#states.values()].includes(state);
  }
}
