/** What a credential allows. `api:write` includes `api:read`. */
export type Scope = 'api:read' | 'api:write';

/** What a member may do in a workspace. Each role includes those before it. */
export type Role = 'read' | 'write' | 'admin';

/** The caller: a person, by an API key or an access token, or a workspace, by its key. */
export interface Principal {
  kind: 'personal' | 'workspace' | 'oauth';
  /** Id of the key or token. Rate limits count by it. */
  credentialId: string;
  /** The acting person; null for a workspace key. */
  userId: string | null;
  /** The workspace of a workspace key; null for other credentials. */
  workspaceId: string | null;
  scopes: readonly Scope[];
  expiresAt: string | null;
  /** The caller sent no credential. The principal stands for the workspace of a public workflow. */
  anonymous?: true;
}

/** The credentials of a request. */
export interface Credentials {
  apiKey: string | undefined;
  bearer: string | undefined;
}

/** Identifies callers. A host can bring its own. */
export interface Authenticator {
  /** Returns the caller; undefined for an invalid credential, which is refused even where none is needed. */
  authenticate(credentials: Credentials): Promise<Principal | undefined>;
}

/** Returns the account that shares rate limits between its credentials: the person, else the workspace. */
export function accountOf({ userId, workspaceId, credentialId }: Principal): string {
  return userId ?? workspaceId ?? credentialId;
}

/** Returns whose share of the capacity a call uses. Anonymous callers of a workspace share one. */
export function capacitySubjectOf(principal: Principal): string {
  const account = accountOf(principal);
  return principal.anonymous ? `public:${account}` : account;
}
