import { EngineError, isEngineError } from '@heddle/core';
import type { Entry, NewRun, RunRecord } from '@heddle/core';
import { isJsonObject } from '@heddle/core/blocks';
import type { NewControlRequest, ControlOutcome, ControlRequest } from './control.ts';
import type { TailableRunStore, SharedStores } from './stores.ts';

/** By what a process holds a run: whoever takes the run gives it the next epoch, and from then on this one writes nothing. */
export interface Lease {
  readonly runId: string;
  /** Id of the process. */
  readonly owner: string;
  readonly epoch: number;
}

/**
 * Who holds which run, of the processes that share a database. Times are the database's, so that the clocks of the
 * processes need not agree.
 *
 * 1. A run is held by one process at most, and only while that process is known and its time has not passed.
 * 2. Every write of a held run is refused, as a whole, once another process was given the run or its own was removed.
 */
export interface LeaseStore {
  /** Makes the process known, for so many milliseconds. */
  join(owner: string, leaseMs: number): Promise<void>;
  /** Renews the time of all that the process holds; false: it was removed, and holds nothing any more. */
  renew(owner: string, leaseMs: number): Promise<boolean>;
  /** Removes the process; what it held is free at once. */
  leave(owner: string): Promise<void>;
  /** Removes the processes whose time has passed. */
  expireOwners(): Promise<void>;
  /**
   * Takes free runs that have something to do, oldest first: this process's share of them, `most` at most. Children come
   * with their parents, unless these have ended.
   */
  claim(owner: string, most: number): Promise<Lease[]>;
  /** Takes a run that nobody else holds; undefined: somebody does, or it has ended. */
  acquire(owner: string, runId: string): Promise<Lease | undefined>;
  /** Those of these runs that have not ended, should move, and that no living process has. */
  findUnowned(runIds: readonly string[]): Promise<string[]>;
  /** Gives back a run that only a person can move: nobody has to hold it until then. */
  release(lease: Lease): Promise<void>;
  /** Creates a run that the process holds; undefined: the id is taken. */
  create(owner: string, run: NewRun, first: Entry, record: RunRecord): Promise<Lease | undefined>;
  /** The runs as the holder of one of them writes it. Its writes throw RUN_ELSEWHERE once it is held no longer. */
  runStore(lease: Lease): TailableRunStore;
}

/** Requests from any process to the one that holds a run. */
export interface RequestStore {
  /** Leaves the request; returns its id. */
  add(request: NewControlRequest): Promise<string>;
  outcome(id: string): Promise<ControlOutcome | undefined>;
  /** Takes the request back, or what became of it. */
  remove(id: string): Promise<void>;
  /** Requests without an outcome for the runs that the process holds, oldest first. */
  pending(owner: string): Promise<ControlRequest[]>;
  settle(id: string, outcome: ControlOutcome): Promise<void>;
  /** Removes what processes have left behind that died while they waited. */
  prune(): Promise<void>;
}

/** Stores of which several processes run the runs. */
export interface LeasedStores extends SharedStores {
  readonly leases: LeaseStore;
  readonly requests: RequestStore;
}

/** RUN_ELSEWHERE for a run that another process holds. */
export function heldByOther(runId: string): EngineError {
  return new EngineError(
    'RUN_ELSEWHERE',
    `Another process has run ${runId}, or takes it up: nothing more is done of it here. Read it from the database, or ask for what it is to do.`,
    { details: { runId, held: true } },
  );
}

/** True for errors of `heldByOther`: for this run, or for any. */
export function isHeldByOther(error: unknown, runId?: string): boolean {
  if (!isEngineError(error) || error.code !== 'RUN_ELSEWHERE' || !isJsonObject(error.details)) return false;
  const { held, runId: which } = error.details;
  return held === true && (runId === undefined || which === runId);
}

/** What a process is told that was taken for dead. */
export class ProcessRemoved extends Error {
  constructor() {
    super('This process was not heard of for too long, and others have its runs.');
    this.name = 'ProcessRemoved';
  }
}
