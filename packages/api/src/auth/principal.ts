/** The access of a credential. `api:write` includes `api:read`. */
export type Scope = 'api:read' | 'api:write';

/** The role of a member in a workspace. Each role includes the roles before it. */
export type Role = 'read' | 'write' | 'admin';

/** A part of the API that a host can block for users. */
export type Capability =
  | 'deploy.api'
  | 'deploy.chat'
  | 'deploy.mcp'
  | 'public_api.use'
  | 'mcp_tools.use'
  | 'copilot.use'
  | 'files.use'
  | 'files.bulk_download'
  | 'tables.use'
  | 'tables.create'
  | 'tables.export'
  | 'knowledge.use'
  | 'knowledge.create'
  | 'knowledge.upload'
  | 'knowledge.export'
  | 'skills.use'
  | 'sandboxes.use'
  | 'secrets.manage'
  | 'integrations.manage'
  | 'credentials.personal'
  | 'invitations.send'
  | 'organization.member_directory'
  | 'logs.export';

/**
 * The kind of credential of a caller: a user's API key, a workspace's API key, an access token, or an interactive
 * session of the host.
 */
export type PrincipalKind = 'personal' | 'workspace' | 'oauth' | 'session';

/** The caller: a user, or a workspace, which is identified by its key. */
export interface Principal {
  kind: PrincipalKind;
  /** Id of the key, token or session. The rate limits of operations apply to each id. */
  credentialId: string;
  /** The acting user; null for a workspace key. */
  userId: string | null;
  /** The workspace of a workspace key; null for other credentials. */
  workspaceId: string | null;
  scopes: readonly Scope[];
  /** The expiry in ISO 8601; null: it does not expire. */
  expiresAt: string | null;
  /** True if the caller sent no credential. The principal represents the workspace of a public workflow. */
  anonymous?: true;
}

/** Users, with any kind of credential. */
export const USER_PRINCIPALS = ['personal', 'oauth', 'session'] as const satisfies PrincipalKind[];

/** Users, and the keys of workspaces. */
export const AUTHENTICATED_PRINCIPALS = [...USER_PRINCIPALS, 'workspace'] as const satisfies PrincipalKind[];

/** The credentials of a request. */
export interface Credentials {
  apiKey: string | undefined;
  bearerToken: string | undefined;
}

/** Identifies callers. */
export interface Authenticator {
  /**
   * Returns the caller; undefined for an invalid credential, which is refused even if a credential is optional.
   * `headers` are the headers of the request, for hosts that also identify callers by other means, such as a session
   * cookie.
   */
  authenticate(credentials: Credentials, headers: Headers): Promise<Principal | undefined>;
}

/** Returns the account whose credentials share rate limits: the user, else the workspace. */
export function accountOf({ userId, workspaceId, credentialId }: Principal): string {
  return userId ?? workspaceId ?? credentialId;
}

/** Returns the subject whose share of the capacity a call uses. Anonymous callers of a workspace are one subject. */
export function capacitySubjectOf(principal: Principal): string {
  const account = accountOf(principal);
  return principal.anonymous ? `public:${account}` : account;
}
