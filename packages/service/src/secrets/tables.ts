/** A secret. Its primary key is `workspace_id`, `user_id`, `name`. */
export interface SecretRow {
  workspace_id: string;
  /** The user whose secret it is; empty: a secret of the workspace. */
  user_id: string;
  name: string;
  description: string | null;
  /** Id of the key that sealed the value. */
  key_id: string;
  /** The value, bound to the row's primary key. */
  sealed: string;
  created_at: string;
  updated_at: string;
}

/** The columns that lists read. */
export type SecretInfo = Omit<SecretRow, 'key_id' | 'sealed'>;

/** The tables of secrets. */
export interface SecretTables {
  secrets: SecretRow;
}
