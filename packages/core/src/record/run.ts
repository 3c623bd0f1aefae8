import type { Json } from '../json.ts';
import type { BlockFailure } from './entry.ts';
import type { Stored } from './stored.ts';

/** How a run stands; it never leaves `completed`, `failed` or `cancelled`. */
export type RunStatus = 'queued' | 'running' | 'paused' | 'completed' | 'failed' | 'cancelled';

/** What people read of a run: a projection of its journal. */
export interface RunRecord {
  runId: string;
  /** Id by which the caller knows the run, where it is not `runId`. */
  callerId?: string;
  workflowId: string;
  workflowName: string;
  status: RunStatus;
  /** Set while `paused`: what it waits for. */
  pauseKind: 'human' | 'time' | undefined;
  createdMs: number;
  startedMs: number | undefined;
  endedMs: number | undefined;
  input: Stored;
  output: Stored | undefined;
  error: RunFailure | undefined;
  /** Open pause points, earliest first. */
  pauses: PausePoint[];
  parentRunId: string | undefined;
  /** Entries of the journal this record has seen. */
  seq: number;
  /** Why a run that should move does not: a value that it needs is missing, and so on. */
  suspended: string | undefined;
}

/** Why a run failed, and at which block. */
export interface RunFailure extends BlockFailure {
  blockId?: string;
  blockName?: string;
  blockType?: string;
  scope?: number[];
}

/** A block that waits: for a person, who answers with `token`, or for its time. */
export interface PausePoint {
  /** The token to resume with (`contextId`): opaque. */
  token: string;
  blockId: string;
  blockName: string;
  scope: number[];
  kind: 'human' | 'time';
  pausedMs: number;
  dueMs: number | undefined;
  output: Stored;
  inputFormat: Json;
}
