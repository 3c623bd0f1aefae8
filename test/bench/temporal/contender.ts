import type { Role } from '@heddle/temporal';

/** What a run is to do. The sizes are blocks, turns or branches; `window`: branches open at once. */
export interface Job {
  graph: 'empty' | 'compute' | 'effects' | 'loop' | 'branches' | 'effect branches' | 'pause';
  size: number;
  window?: number;
}

/** How runs are run; each contender has what comes nearest to it. */
export interface Mode {
  /** Default true: what computes runs within the workflow task, where the contender can do that. */
  local?: boolean;
  /** `block`: every block has an activity of its own. */
  checkpoint?: 'segment' | 'block';
  /** Workflows that a worker keeps in memory; default as the contender does by itself. */
  cached?: number;
}

/** What a process is: a client, a worker with these roles, or both. */
export interface Place {
  server: { address: string; namespace: string };
  queue: string;
  /** Folder of the stores that the processes of one contender share. */
  data: string;
  /** Path of the bundle of the hand-written workflows. */
  bundle: string;
  client: boolean;
  roles: readonly Role[];
  mode: Mode;
}

/** One of the two in a process of its own: Heddle, or workflows written by hand. */
export interface Contender {
  /** One run to its end; it throws when the result is wrong. */
  run(job: Job): Promise<void>;
  /** Starts a run that waits for a person, and resolves when it does. */
  pause(): Promise<void>;
  close(): Promise<void>;
}
