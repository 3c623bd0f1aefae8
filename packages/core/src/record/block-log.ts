import type { StoredValue } from './stored-value.ts';
import type { BlockFailure } from './entry.ts';

/** One execution of a block in the record of a run. A container is logged when it ends. */
export interface BlockLog {
  runId: string;
  blockId: string;
  blockName: string;
  blockType: string;
  /** 1, 2, 3 … in start order over the whole run. A container is numbered when it ends. */
  executionOrder: number;
  status: 'running' | 'completed' | 'failed' | 'paused' | 'cancelled';
  startedMs: number;
  endedMs: number | undefined;
  durationMs: number | undefined;
  /** True if an error port handled the failure. */
  errorHandled: boolean;
  tries: number;
  input: StoredValue | undefined;
  output: StoredValue | undefined;
  error: BlockFailure | undefined;
  /** The innermost container around the block, and its iteration or branch. */
  container: LogScope | undefined;
  /** The containers around the innermost container, outermost first. */
  parents: LogScope[];
}

/** A container around a block, and the block's iteration or branch in it, from 0. */
export interface LogScope {
  kind: 'loop' | 'parallel';
  blockId: string;
  index: number;
}
