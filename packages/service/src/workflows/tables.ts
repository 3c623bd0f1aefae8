import type { AuditTables } from '../audit.ts';

// Timestamps are ISO 8601 text in UTC, booleans are 0 or 1, as in the other tables.

/** A folder of workflows. The root has no row. */
export interface FolderRow {
  workspace_id: string;
  /** Canonical: see `parseFolderPath`. */
  path: string;
  parent_path: string;
  name: string;
  /** 1: neither the folder nor what is in it can be changed. */
  locked: number;
  created_at: string;
  updated_at: string;
}

/** The columns of workflows that this area reads and writes. */
export interface WorkflowColumns {
  id: string;
  workspace_id: string;
  name: string;
  description: string | null;
  folder_path: string;
  position: number;
  state: string;
  active_version: number | null;
  deployed_at: string | null;
  public_api: number;
  created_at: string;
  updated_at: string;
  archived_at: string | null;
}

export interface WorkflowTables extends AuditTables {
  workflow_folders: FolderRow;
  workflows: WorkflowColumns;
  graph_ids: { workspace_id: string; id: string; workflow_id: string };
}
