import type { RawEvent, RestEvent } from '../../records/run-events.ts';

/** Who listens to a run: to all that happens in it, or only to its rests. */
export class Listeners {
  private readonly all = new Set<(event: RawEvent) => void>();
  private readonly rests = new Set<(event: RestEvent) => void>();

  /** The returned function stops listening. */
  toAll(listener: (event: RawEvent) => void): () => void {
    this.all.add(listener);
    return () => this.all.delete(listener);
  }

  toRests(listener: (event: RestEvent) => void): () => void {
    this.rests.add(listener);
    return () => this.rests.delete(listener);
  }

  nextRest(): Promise<void> {
    return new Promise((resolve) => {
      const stop = this.toRests(() => {
        stop();
        resolve();
      });
    });
  }

  get empty(): boolean {
    return this.all.size === 0 && this.rests.size === 0;
  }

  /** True when somebody wants to know more than rests. */
  get curious(): boolean {
    return this.all.size > 0;
  }

  tell(event: RawEvent): void {
    for (const listener of this.all) listener(event);
    if (event.type === 'rest') for (const listener of this.rests) listener(event);
  }
}
