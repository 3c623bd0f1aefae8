import type { Json } from '../json.ts';
import type { BlockFailure } from './entry.ts';
import type { StoredValue } from './stored-value.ts';

/** The status of a run. `completed`, `failed` and `cancelled` are final. */
export type RunStatus = 'queued' | 'running' | 'paused' | 'completed' | 'failed' | 'cancelled';

/** The readable state of a run: a projection of its journal. */
export interface RunRecord {
  runId: string;
  /** The caller's id of the run, if it differs from `runId`. */
  callerId?: string;
  workflowId: string;
  workflowName: string;
  status: RunStatus;
  /** Set while `paused`: the run waits for a person or for a time. */
  pauseKind: 'human' | 'time' | undefined;
  createdMs: number;
  startedMs: number | undefined;
  endedMs: number | undefined;
  input: StoredValue;
  output: StoredValue | undefined;
  error: RunFailure | undefined;
  /** Open pause points, earliest first. */
  pauses: PausePoint[];
  /** Number of pause points that people have answered. Absent: 0. */
  resumedCount?: number;
  parentRunId: string | undefined;
  /** Number of journal entries in this record. */
  seq: number;
  /** The reason why a run cannot continue, for example a missing value. */
  suspended: string | undefined;
}

/** The reason why a run failed, and the failed block. */
export interface RunFailure extends BlockFailure {
  blockId?: string;
  blockName?: string;
  blockType?: string;
  scope?: number[];
}

/** A paused block: it waits for a person, who resumes it with `token`, or for a time. */
export interface PausePoint {
  /** The opaque token to resume with (`contextId`). */
  token: string;
  blockId: string;
  blockName: string;
  scope: number[];
  kind: 'human' | 'time';
  pausedMs: number;
  dueMs: number | undefined;
  output: StoredValue;
  inputFormat: Json;
  /**
   * The attempt that the answer continues, and the number of its earlier resumes; absent: the answer ends the block.
   */
  continues?: { try: number; resumes?: number };
}
