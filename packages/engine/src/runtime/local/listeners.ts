import type { IdleStateEvent, RawEvent } from '../../records/run-events.ts';

/** The listeners of a run, some for all events and some only for changes of its idle state. */
export class RunListeners {
  private readonly all = new Set<(event: RawEvent) => void>();
  private readonly idleState = new Set<(event: IdleStateEvent) => void>();

  /** Returns a function that removes the listener. */
  addForAll(listener: (event: RawEvent) => void): () => void {
    this.all.add(listener);
    return () => this.all.delete(listener);
  }

  /** Resolves at the next change of the idle state. */
  nextIdleState(): Promise<void> {
    return new Promise((resolve) => {
      const listener = (): void => {
        this.idleState.delete(listener);
        resolve();
      };
      this.idleState.add(listener);
    });
  }

  get empty(): boolean {
    return this.all.size === 0 && this.idleState.size === 0;
  }

  /** True if somebody listens to all events. */
  get wantEvents(): boolean {
    return this.all.size > 0;
  }

  notify(event: RawEvent): void {
    for (const listener of this.all) listener(event);
    if (event.type === 'idle-state') for (const listener of this.idleState) listener(event);
  }
}
