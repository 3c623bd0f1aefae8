import type { CredentialType } from './schemas.ts';

/** A credential. Its primary key is `workspace_id`, `id`; `workspace_id`, `display_name` is unique. */
export interface CredentialRow {
  workspace_id: string;
  id: string;
  type: CredentialType;
  provider_id: string;
  display_name: string;
  description: string | null;
  /** The account at the provider; null: unknown. */
  account_id: string | null;
  /** `reconnect`: the provider no longer accepts it. */
  state: 'connected' | 'reconnect';
  /** Incremented when the sealed material is replaced, but not when it is sealed with another key. */
  version: number;
  /** Id of the key that sealed the material. */
  key_id: string;
  /** The material, bound to workspace, id and provider. */
  sealed: string;
  /** The process that refreshes the token; null: none. */
  refresh_owner: string | null;
  /** ISO 8601: after this, another process may refresh the token. */
  refresh_until: string | null;
  /** The user who added it over HTTP and may change it, besides admins; null: only admins may. */
  created_by: string | null;
  created_at: string;
  updated_at: string;
}

/** The columns that lists read. */
export type CredentialInfo = Omit<CredentialRow, 'key_id' | 'sealed' | 'refresh_owner' | 'refresh_until'>;

/** The tables of credentials. */
export interface CredentialTables {
  credentials: CredentialRow;
}
