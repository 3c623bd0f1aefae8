import type { Scope } from './roles.ts';

/** Who calls: a person by a key of their own or an application's token, or a workspace by its key. */
export interface Principal {
  kind: 'personal' | 'workspace' | 'oauth';
  /** Id of the key or token: limits are counted by it. */
  credentialId: string;
  /** The acting person; null for a workspace's key, which acts for nobody. */
  userId: string | null;
  /** The workspace of a workspace's key. */
  workspaceId: string | null;
  scopes: readonly Scope[];
  expiresAt: string | null;
  /** Nobody has said who calls: the workflow is public. */
  anonymous?: true;
}

/** What a request brought along to say who calls. */
export interface Credentials {
  apiKey: string | undefined;
  bearer: string | undefined;
}

/** Tells who calls. A host can bring its own. */
export interface Authenticator {
  /** Null: the credential is no good. A credential that was sent and is bad is never taken as none. */
  authenticate(credentials: Credentials): Promise<Principal | null>;
}

/** Whose calls are counted beside those of the credential: the person's, else the workspace's. */
export function accountOf({ userId, workspaceId, credentialId }: Principal): string {
  return userId ?? workspaceId ?? credentialId;
}

/** Who takes a share of the capacity: strangers of a workspace have one together, apart from those with a credential. */
export function capacitySubjectOf(principal: Principal): string {
  const holder = accountOf(principal);
  return principal.anonymous ? `public:${holder}` : holder;
}
