import { EngineError, isEngineError } from '@heddle/core';
import type { Entry, RunHeader, RunRecord } from '@heddle/core';
import { isJsonObject } from '@heddle/core/blocks';
import type { RequestStore } from './control.ts';
import type { SharedStores, TailableRunStore } from './stores.ts';

/**
 * The right of a process to execute a run. Each new holder gets a higher epoch, which fences off the writes of earlier
 * holders.
 */
export interface Lease {
  readonly runId: string;
  /** Id of the process. */
  readonly owner: string;
  readonly epoch: number;
}

/**
 * Leases of the processes that share a database. The clock of the database is used, so the clocks of the processes need
 * not agree.
 *
 * 1. At most one process holds a run, and only while the process is registered (`join`) and its lease time has not
 *    expired.
 * 2. Every write under a lost lease is rejected as a whole. A lease is lost when another process has taken the run, or
 *    when the holder was removed.
 */
export interface LeaseStore {
  /** Registers the process. Its leases expire after `leaseMs` unless it renews them. */
  join(owner: string, leaseMs: number): Promise<void>;
  /** Extends all leases of the process. Returns false if the process was removed and has no leases. */
  renew(owner: string, leaseMs: number): Promise<boolean>;
  /** Removes the process, and frees its runs immediately. */
  leave(owner: string): Promise<void>;
  /** Removes the processes whose leases have expired. */
  removeExpiredOwners(): Promise<void>;
  /**
   * Takes free runs that can continue, oldest first: the fair share of this process, at most `limit`. A child run is
   * free only after its parent has ended; until then the holder of the parent acquires it.
   */
  claim(owner: string, limit: number): Promise<Lease[]>;
  /** Takes the run. Returns undefined if another process holds it or it has ended. */
  acquire(owner: string, runId: string): Promise<Lease | undefined>;
  /** Returns the ids among `runIds` of runs that can continue but have no live holder. */
  findUnownedRuns(runIds: readonly string[]): Promise<string[]>;
  /** Releases a run that waits for a person, because no process needs to hold it until the person answers. */
  release(lease: Lease): Promise<void>;
  /** Creates a run that the process holds. Returns undefined if the id already exists. */
  create(owner: string, header: RunHeader, firstEntry: Entry, record: RunRecord): Promise<Lease | undefined>;
  /** Returns the run store for the holder of the lease. Its writes throw RUN_ELSEWHERE once the lease is lost. */
  runStore(lease: Lease): TailableRunStore;
}

/** Stores whose runs are executed by several processes. */
export interface LeasedStores extends SharedStores {
  readonly leases: LeaseStore;
  readonly requests: RequestStore;
}

/** Returns the error RUN_ELSEWHERE for a run that another process holds. */
export function runHeldByAnother(runId: string): EngineError {
  return new EngineError(
    'RUN_ELSEWHERE',
    `Run ${runId} belongs to another process, or is being recovered by one: this process cannot change it. Read the run from the database, or send a request to its process.`,
    { details: { runId, held: true } },
  );
}

/** True for an error that `runHeldByAnother` created: for this run, or for any run if `runId` is absent. */
export function isHeldByAnother(error: unknown, runId?: string): boolean {
  if (!isEngineError(error) || error.code !== 'RUN_ELSEWHERE' || !isJsonObject(error.details)) return false;
  const { held, runId: heldRunId } = error.details;
  return held === true && (runId === undefined || heldRunId === runId);
}

/** Thrown in a process that was removed because it did not renew its leases in time. */
export class ProcessRemovedError extends Error {
  constructor() {
    super('This process did not renew its leases in time, and other processes have taken over its runs.');
    this.name = 'ProcessRemovedError';
  }
}
