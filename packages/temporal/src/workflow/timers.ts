import { CancellationScope, isCancellation } from '@temporalio/workflow';

/** Sleeps until a time in milliseconds since the epoch. Rejects if its scope is cancelled. */
export type SleepUntil = (dueMs: number) => Promise<void>;

/** A run's timers by name. Setting a timer replaces an earlier one of the same name. */
export class Timers {
  readonly #sleepUntil: SleepUntil;
  readonly #scopes = new Map<string, CancellationScope>();
  readonly #onError: (error: unknown) => void;

  constructor(sleepUntil: SleepUntil, onError: (error: unknown) => void) {
    this.#sleepUntil = sleepUntil;
    this.#onError = onError;
  }

  set(name: string, dueMs: number, onFire: () => void): void {
    this.cancel(name);
    const scope = new CancellationScope({ cancellable: true });
    this.#scopes.set(name, scope);
    scope
      .run(() => this.#sleepUntil(dueMs))
      .then(() => {
        if (this.#scopes.get(name) !== scope) return;
        this.#scopes.delete(name);
        onFire();
      })
      .catch((error: unknown) => {
        if (!isCancellation(error)) this.#onError(error);
      });
  }

  cancel(name: string): void {
    this.#scopes.get(name)?.cancel();
    this.#scopes.delete(name);
  }

  clear(): void {
    for (const scope of this.#scopes.values()) scope.cancel();
    this.#scopes.clear();
  }
}
