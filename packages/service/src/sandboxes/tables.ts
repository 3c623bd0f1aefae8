/** A sandbox: the packages that function blocks of a workspace can use. */
export interface SandboxRow {
  id: string;
  workspace_id: string;
  /** Unique within the workspace. */
  name: string;
  language: 'javascript' | 'python';
  /** Sorted lists as JSON. */
  dependencies: string;
  cli_tools: string;
  system_packages: string;
  /** The image of the specification; null if the specification is empty, so that nothing is built. */
  image_id: string | null;
  created_at: string;
  updated_at: string;
}

/** The tables of sandboxes. */
export interface SandboxTables {
  sandboxes: SandboxRow;
}
