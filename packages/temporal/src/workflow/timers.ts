import { CancellationScope, isCancellation } from '@temporalio/workflow';

/** Resolves at a time, in milliseconds since the epoch, or at once when it is past; rejects when its scope is cancelled. */
export type Until = (dueMs: number) => Promise<void>;

/** The timers that a run has set, by name: a second one with the same name takes the place of the first. */
export class Timers {
  private readonly until: Until;
  private readonly scopes = new Map<string, CancellationScope>();
  private readonly broken: (error: unknown) => void;

  constructor(until: Until, broken: (error: unknown) => void) {
    this.until = until;
    this.broken = broken;
  }

  set(name: string, dueMs: number, fire: () => void): void {
    this.cancel(name);
    const scope = new CancellationScope({ cancellable: true });
    this.scopes.set(name, scope);
    scope
      .run(() => this.until(dueMs))
      .then(() => {
        if (this.scopes.get(name) !== scope) return;
        this.scopes.delete(name);
        fire();
      })
      .catch((error: unknown) => {
        if (!isCancellation(error)) this.broken(error);
      });
  }

  cancel(name: string): void {
    this.scopes.get(name)?.cancel();
    this.scopes.delete(name);
  }

  clear(): void {
    for (const scope of this.scopes.values()) scope.cancel();
    this.scopes.clear();
  }
}
