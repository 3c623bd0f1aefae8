/** Maximum number of characters, and of events, that are stored for a run. Older events are removed. */
export const MAX_LIVE_CHARS = 1_048_576;
export const MAX_LIVE_EVENTS = 10_000;
/** The events of a run are removed after this time without a new event. */
export const LIVE_RETENTION_MS = 3_600_000;
/** Minimum time between two removals of expired events by a process. */
export const LIVE_PRUNE_INTERVAL_MS = 60_000;

/** An event of a run that is not part of its journal, as JSON text. `place`: the block that the event is about. */
export interface NewLiveEvent {
  place: string;
  json: string;
}

export interface LiveEvent extends NewLiveEvent {
  /** From 1, consecutive in each run. */
  number: number;
}

/**
 * Events of runs that are not part of their journals, such as the text of a model as it arrives. They may be lost when
 * their storage fails, and are stored for a limited time. Any number of processes may publish events of a run: the
 * store gives them consecutive numbers. `describeLiveEvents` tests an implementation.
 */
export interface LiveEventStore {
  /** Milliseconds for which a publisher collects events, so that many small events need only few writes. */
  readonly batchMs: number;
  /** Adds one or more events in order, and returns the number of the last. */
  publish(runId: string, events: readonly NewLiveEvent[]): Promise<number> | number;
  /** Returns stored events with numbers above `afterNumber`, in order, at most `limit`. */
  read(runId: string, afterNumber: number, limit: number): Promise<LiveEvent[]> | LiveEvent[];
  /** Returns the places with stored events. */
  places(runId: string): Promise<string[]> | string[];
  /** Returns the number of the last event; 0 if there is none. */
  lastNumber(runId: string): Promise<number> | number;
  /** Removes all events of the run. */
  remove(runId: string): Promise<void> | void;
  /**
   * Calls `wake` after events of the run were published, by any process. This is only an optimization: calls may be
   * missing, late or redundant. Returns a function that stops the calls. Does not keep the process alive.
   */
  watch(runId: string, wake: () => void): () => void;
}

/** The functions to call when events of a run were published. */
export class LiveEventWatchers {
  readonly #callbacks = new Map<string, Set<() => void>>();

  get size(): number {
    return this.#callbacks.size;
  }

  /** Returns a function that removes `wake`. */
  add(runId: string, wake: () => void): () => void {
    const callbacks = this.#callbacks.get(runId) ?? new Set();
    this.#callbacks.set(runId, callbacks);
    callbacks.add(wake);
    return () => {
      callbacks.delete(wake);
      if (callbacks.size === 0 && this.#callbacks.get(runId) === callbacks) this.#callbacks.delete(runId);
    };
  }

  wake(runId: string): void {
    for (const wake of this.#callbacks.get(runId) ?? []) wake();
  }

  wakeAll(): void {
    for (const runId of this.#callbacks.keys()) this.wake(runId);
  }
}
