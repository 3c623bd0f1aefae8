import type { Stored } from './stored.ts';
import type { BlockFailure } from './entry.ts';

/** One block's run in the record of a run; a container has one when it ends. */
export interface BlockLog {
  runId: string;
  blockId: string;
  blockName: string;
  blockType: string;
  /** 1, 2, 3 … in the order of starts over the whole run (a container counts when it ends). */
  executionOrder: number;
  status: 'running' | 'completed' | 'failed' | 'paused' | 'cancelled';
  startedMs: number;
  endedMs: number | undefined;
  durationMs: number | undefined;
  /** The failure was handled by an error port. */
  errorHandled: boolean;
  tries: number;
  input: Stored | undefined;
  output: Stored | undefined;
  error: BlockFailure | undefined;
  /** The container directly around the block, and its turn or branch. */
  container: LogScope | undefined;
  /** Containers around that one, outermost first. */
  parents: LogScope[];
}

/** A container around a block, and the turn or branch the block was in, from 0. */
export interface LogScope {
  kind: 'loop' | 'parallel';
  blockId: string;
  index: number;
}
