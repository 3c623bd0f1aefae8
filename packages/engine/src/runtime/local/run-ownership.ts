import type { Entry, RunHeader, RunRecord } from '@heddle/core';
import { mapMaybePromise } from '../../map-maybe-promise.ts';
import type { TailableRunStore } from '../../store/stores.ts';

/** The runs that this process owns, and the stores through which it writes them. */
export interface RunOwnership {
  /** True if other processes own runs in the same stores. */
  readonly isShared: boolean;
  /** Creates a run that this process owns; undefined: the id is taken. */
  create(
    header: RunHeader,
    firstEntry: Entry,
    record: RunRecord,
  ): TailableRunStore | undefined | Promise<TailableRunStore | undefined>;
  /** Takes ownership of a recorded run. Throws RUN_ELSEWHERE while another process owns it. */
  acquire(runId: string): TailableRunStore | Promise<TailableRunStore>;
  /** Returns the store that writes an owned run. Throws RUN_ELSEWHERE if another process owns the run. */
  writableStore(runId: string): TailableRunStore;
  /** Called when the run was evicted from memory because it is paused for human input. */
  onEvicted(runId: string): void;
  /** Called when the run has ended or another process owns it. */
  forget(runId: string): void;
  /** Stops the runs that this process has lost. Called before an external effect. */
  checkOwnership(): void;
  /** Called when an error has stopped the run, after the error is in its record. `recover` tries to continue it. */
  onFailure(runId: string, recover: () => void): void;
}

/**
 * Returns the ownership of a process that is the only user of its stores and owns every run. Runs stopped by an error
 * are recovered at the next start. `onAcquire` is called for each recorded run that the process opens.
 */
export function createExclusiveOwnership(
  runs: TailableRunStore,
  onAcquire?: (runId: string) => void,
): RunOwnership {
  return {
    isShared: false,
    create: (header, firstEntry, record) =>
      mapMaybePromise(runs.create(header, firstEntry, record), (isCreated) => (isCreated ? runs : undefined)),
    acquire: (runId) => {
      onAcquire?.(runId);
      return runs;
    },
    writableStore: () => runs,
    onEvicted: () => undefined,
    forget: () => undefined,
    checkOwnership: () => undefined,
    onFailure: () => undefined,
  };
}
