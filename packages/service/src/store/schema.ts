import type { ColumnType, Generated } from 'kysely';
import type { Role } from '@heddle/api';

// SQLite and PostgreSQL have the same columns: timestamps are ISO 8601 strings in UTC, booleans are 0 or 1, JSON is a
// string.

export interface UserRow {
  id: string;
  email: string;
  name: string;
  created_at: string;
}

export interface WorkspaceRow {
  id: string;
  name: string;
  /** 1 if the workspace accepts personal keys. */
  personal_keys: number;
  created_at: string;
  /** Null: never changed. */
  updated_at: Generated<string | null>;
}

export interface MemberRow {
  workspace_id: string;
  user_id: string;
  role: Role;
  created_at: string;
}

export interface ApiKeyRow {
  id: string;
  kind: 'personal' | 'workspace';
  name: string;
  user_id: string | null;
  workspace_id: string | null;
  /** HMAC of the key. The key itself is not stored. */
  hash: string;
  /** The last characters of the key, to distinguish keys. */
  hint: string;
  created_at: string;
  expires_at: string | null;
  last_used_at: string | null;
  revoked_at: string | null;
}

/** The draft of a workflow, and which of its versions is live. The engine stores the compiled versions. */
export interface WorkflowRow {
  id: string;
  workspace_id: string;
  name: string;
  description: string | null;
  folder_path: string;
  position: number;
  /** The draft graph. */
  state: string;
  active_version: number | null;
  deployed_at: string | null;
  /** 1 if unauthenticated callers may run the live version. */
  public_api: number;
  created_at: string;
  updated_at: string;
  archived_at: string | null;
}

export interface VersionRow {
  workflow_id: string;
  version: number;
  name: string | null;
  description: string | null;
  /** The graph that was deployed. */
  state: string;
  /** The number of the version in the engine. */
  engine_version: number;
  created_at: string;
  deployed_by: string | null;
}

/** The workflow that uses a block or edge id. */
export interface GraphIdRow {
  workspace_id: string;
  id: string;
  workflow_id: string;
}

/** A reserved run id, which is never reused. The engine stores the run. */
export interface ReservationRow {
  /** The engine's id of the run, unique over all workspaces. */
  engine_id: string;
  /** The id that the caller chose, else the engine's; unique within the workspace. */
  run_id: string;
  workflow_id: string;
  workspace_id: string;
  trigger: 'api' | 'manual' | 'schedule' | 'webhook' | 'event' | 'feed' | 'chat' | 'form';
  mode: 'sync' | 'async' | 'stream';
  created_at: string;
  /** The data with which a queued run starts, as JSON; null for a run that is not queued. */
  waiting: string | null;
  /** Why the run was not started, as JSON. */
  failure: string | null;
  /** 1: flow control decides when the queued run may start. */
  held: 1 | null;
}

/**
 * The number of runs of a workflow. A database trigger adds the row with the workflow; the indexer of the log counts
 * the runs.
 */
export interface RunCountRow {
  workflow_id: string;
  /** Runs that have ended. Never decremented: deleted runs are counted, too. */
  runs: number;
  /** When the last run began. */
  last_at: string | null;
}

/** A run that an unauthenticated caller has started. */
export interface PublicRunRow {
  run_id: string;
  created_at: string;
  /** Keys of the files stored for it, as JSON. */
  files: string | null;
}

export interface AuditRow {
  id: string;
  workspace_id: string | null;
  user_id: string | null;
  credential_id: string | null;
  action: string;
  resource_type: string;
  resource_id: string;
  details: string | null;
  created_at: string;
  /**
   * Null: the action has happened. `intended`: it has not ended yet, or its process ended before the outcome was known.
   */
  outcome: 'intended' | null;
}

export interface Tables {
  users: UserRow;
  workspaces: WorkspaceRow;
  members: MemberRow;
  api_keys: ApiKeyRow;
  workflows: WorkflowRow;
  workflow_versions: VersionRow;
  graph_ids: GraphIdRow;
  claims: Omit<ReservationRow, 'held'> & { held: ColumnType<1 | null, 1 | null | undefined> };
  run_counts: RunCountRow;
  public_runs: Omit<PublicRunRow, 'files'> & { files: ColumnType<string | null, string | null | undefined> };
  audit: AuditRow;
}
