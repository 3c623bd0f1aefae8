import type { ProcessRole } from '@heddle/temporal';

/**
 * The job of a run. `size` is a number of blocks, iterations or branches; `maxConcurrent` is the maximum number of
 * concurrent branches.
 */
export interface Job {
  graph: 'empty' | 'compute' | 'effects' | 'loop' | 'branches' | 'effect branches' | 'pause';
  size: number;
  maxConcurrent?: number;
}

/** Settings of Heddle. The hand-written workflows have the nearest equivalent. */
export interface RuntimeSettings {
  /** True (default): compute blocks run within the workflow task if the contender supports it. */
  localSegments?: boolean;
  /** `block`: every block is a separate activity. */
  checkpoint?: 'segment' | 'block';
  /** Maximum number of cached workflows of a worker; default: the contender's default. */
  maxCachedWorkflows?: number;
}

/** The setup of a process: a client, a worker with `roles`, or both. */
export interface ProcessSetup {
  server: { address: string; namespace: string };
  queue: string;
  /** Folder of the stores, which the processes of one contender share. */
  data: string;
  /** Path of the bundle of the hand-written workflows. */
  bundlePath: string;
  client: boolean;
  roles: readonly ProcessRole[];
  settings: RuntimeSettings;
}

/** A contender in its process: Heddle, or hand-written workflows. */
export interface Contender {
  /** Executes a run. Throws if the result is wrong. */
  run(job: Job): Promise<void>;
  /** Starts a run that waits for a person. Resolves when the run waits. */
  startPausedRun(): Promise<void>;
  close(): Promise<void>;
}
