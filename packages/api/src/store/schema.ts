import type { ColumnType } from 'kysely';
import type { Role } from '../auth/roles.ts';

/** Times are ISO 8601 texts in UTC, truth values 0 or 1, JSON is text: the same in SQLite and in PostgreSQL. */
export interface UserRow {
  id: string;
  email: string;
  name: string;
  created_at: string;
}

export interface WorkspaceRow {
  id: string;
  name: string;
  /** Whether personal keys may be used in it. */
  personal_keys: number;
  created_at: string;
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
  /** Keyed hash of the key; the key itself is kept nowhere. */
  hash: string;
  /** Its last characters, to tell keys apart. */
  hint: string;
  created_at: string;
  expires_at: string | null;
  last_used_at: string | null;
  revoked_at: string | null;
}

/** A workflow's draft, and which of its versions is live. What a version runs as is the engine's. */
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
  /** Whether the live version may be run without a credential. */
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
  /** The version of the engine that it runs as. */
  engine_version: number;
  created_at: string;
  deployed_by: string | null;
}

/** Which workflow a block or edge id belongs to. */
export interface GraphIdRow {
  workspace_id: string;
  id: string;
  workflow_id: string;
}

/** An id of a run that was claimed, for ever; the run itself is the engine's. */
export interface ReservationRow {
  /** The engine's id of the run, unique over all workspaces. */
  engine_id: string;
  /** The id by which the workspace knows the run, unique within it: the caller's, else the engine's. */
  run_id: string;
  workflow_id: string;
  workspace_id: string;
  trigger: 'api' | 'manual';
  mode: 'sync' | 'async' | 'stream';
  created_at: string;
  /** What an accepted run is to be started with; null once it has been. */
  waiting: string | null;
  /** Why an accepted run could not be started. */
  failure: string | null;
}

/** A run that somebody without a credential has started. */
export interface PublicRunRow {
  run_id: string;
  created_at: string;
  /** Keys of the files that were stored for it, as JSON. */
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
}

export interface Tables {
  users: UserRow;
  workspaces: WorkspaceRow;
  members: MemberRow;
  api_keys: ApiKeyRow;
  workflows: WorkflowRow;
  workflow_versions: VersionRow;
  graph_ids: GraphIdRow;
  claims: ReservationRow;
  public_runs: Omit<PublicRunRow, 'files'> & { files: ColumnType<string | null, string | null | undefined> };
  audit: AuditRow;
}
