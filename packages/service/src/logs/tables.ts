import type { Generated } from 'kysely';
import type { RunCountRow } from '../store/schema.ts';

// Times are milliseconds since the epoch, and durations are milliseconds: statistics compute with them.

/** A run in the log. The engine has its data; this row has the values that lists filter and sort by. */
export interface LogRow {
  /** The engine's id of the run. */
  engine_id: string;
  /** The id that callers see, unique within the workspace. */
  run_id: string;
  workspace_id: string;
  workflow_id: string;
  /** Number of the workflow's version; null for a run of a draft or file. */
  version: number | null;
  status: LogStatus;
  level: LogLevel;
  trigger: string;
  started_ms: number;
  ended_ms: number | null;
  /** -1 for a run that has not ended, so that such runs sort below all others. */
  duration_ms: number;
  /** In USD; -1: no cost is known. */
  cost: number;
  /** Bytes in the engine's stores; -1: not measured. */
  bytes: number;
  /** 1 for the run of a child workflow, which is deleted with its parent. */
  is_child: number;
  /** Number of journal entries that the row reflects. A row never replaces a newer one. */
  seq: number;
}

/** The row in the database. */
interface StoredLog extends LogRow {
  /** 1: `run_counts` has the run. */
  counted: Generated<number>;
  /** 1: `run_totals` has the run. */
  totalled: Generated<number>;
}

/** Sums over the ended runs of a workflow that started within a period of fixed width, for statistics. */
export interface RunTotals {
  workspace_id: string;
  width_ms: number;
  /** A multiple of the width. */
  start_ms: number;
  workflow_id: string;
  trigger: string;
  level: LogLevel;
  runs: number;
  /** Sum of the known durations. */
  duration_ms: number;
  /** Number of runs with a known duration: those that have started and ended. */
  timed: number;
  /** Sum of the known costs, in millionths of a dollar. */
  cost_micros: number;
}

export type LogLevel = 'info' | 'error';
export const LOG_STATUSES = [
  'pending',
  'running',
  'paused',
  'redacting',
  'completed',
  'failed',
  'cancelled',
] as const;
export type LogStatus = (typeof LOG_STATUSES)[number];

/** The tables of the log, and the columns of other tables that the log reads. */
export interface LogTables {
  run_logs: StoredLog;
  /** The models that a run used. */
  run_log_models: { engine_id: string; model: string };
  run_counts: RunCountRow;
  run_totals: RunTotals;
  leases: { name: string; owner: string; expires_ms: number };
  workflows: {
    id: string;
    workspace_id: string;
    name: string;
    description: string | null;
    folder_path: string;
    created_at: string;
    updated_at: string;
    archived_at: string | null;
  };
  workflow_versions: { workflow_id: string; version: number; engine_version: number; state: string };
  members: { workspace_id: string; user_id: string };
  claims: { engine_id: string; run_id: string; workspace_id: string; trigger: string };
}
