import type { GraphIdRow, WorkflowRow } from '../store/schema.ts';

// Timestamps are ISO 8601 text in UTC, booleans are 0 or 1, as in the other tables.

/** A folder of workflows. The root has no row. */
export interface FolderRow {
  workspace_id: string;
  /** Canonical: see `parseFolderPath`. */
  path: string;
  parent_path: string;
  name: string;
  /** 1: neither the folder nor its contents can be changed. */
  locked: number;
  created_at: string;
  updated_at: string;
}

export interface WorkflowTables {
  workflow_folders: FolderRow;
  workflows: WorkflowRow;
  graph_ids: GraphIdRow;
}
