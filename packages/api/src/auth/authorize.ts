import { ApiError, NO_CREDENTIAL, forbidden, notFound, unauthorized } from '../errors.ts';
import type { ApiStore } from '../store/open.ts';
import type { Principal, Role, Scope } from './principal.ts';

const RANK: Record<Role, number> = { read: 1, write: 2, admin: 3 };

/** What an operation requires of its caller. */
export interface AccessRequirement {
  scope: Scope;
  role: Role;
  workspaceKeys: boolean;
}

/** Throws 403 when the credential lacks the scope; for an access token with the challenge of RFC 6750. */
function expectScope({ kind, scopes }: Principal, { scope }: Pick<AccessRequirement, 'scope'>): void {
  if (scopes.includes(scope) || (scope === 'api:read' && scopes.includes('api:write'))) return;
  const challenge = `Bearer realm="Heddle API", error="insufficient_scope", scope="${scope}"`;
  throw new ApiError(403, `This operation needs the scope ${scope}`, {
    details: { code: 'INSUFFICIENT_SCOPE' },
    ...(kind === 'oauth' && { headers: { 'WWW-Authenticate': challenge } }),
  });
}

const KINDS: ReadonlySet<string> = new Set<Principal['kind']>(['personal', 'workspace', 'oauth']);

/** Throws 401 or 403 when the principal may not call the operation on any resource, because of its kind or scopes. */
export function expectPrincipal(
  principal: Principal,
  operation: Pick<AccessRequirement, 'scope'> & { public?: true | undefined },
): void {
  if (!KINDS.has(principal.kind)) {
    throw forbidden('PRINCIPAL_KIND_NOT_PERMITTED', 'Credentials of this kind cannot call this operation');
  }
  if (principal.anonymous && !operation.public) throw unauthorized(NO_CREDENTIAL);
  expectScope(principal, operation);
}

/** Throws 403 for a workspace key when the operation does not allow workspace keys. */
export function expectWorkspaceKeys(
  principal: Principal,
  { role, workspaceKeys }: Pick<AccessRequirement, 'role' | 'workspaceKeys'>,
): void {
  if (principal.kind !== 'workspace' || (workspaceKeys && role !== 'admin')) return;
  throw forbidden('WORKSPACE_KEY_OPERATION_NOT_PERMITTED', 'Workspace API keys cannot call this operation');
}

/**
 * Throws when the caller may not do this in the workspace: 404 with `noun` for callers who are not members, 403 with
 * the reason for members.
 */
export async function expectAccess(
  store: Pick<ApiStore, 'workspaces'>,
  principal: Principal,
  workspaceId: string,
  requirement: Pick<AccessRequirement, 'role' | 'workspaceKeys'> & { noun: string },
): Promise<void> {
  if (principal.kind === 'workspace') {
    if (principal.workspaceId !== workspaceId) throw notFound(requirement.noun);
    return expectWorkspaceKeys(principal, requirement);
  }
  const access =
    principal.userId === null ? undefined : await store.workspaces.access(workspaceId, principal.userId);
  if (!access) throw notFound(requirement.noun);
  if (principal.kind === 'personal' && !access.personalKeys) {
    throw forbidden('PERSONAL_API_KEYS_DISABLED', 'Personal API keys are disabled in this workspace');
  }
  if (RANK[access.role] < RANK[requirement.role]) {
    throw forbidden(
      'INSUFFICIENT_WORKSPACE_ROLE',
      `This operation needs the role ${requirement.role} in the workspace`,
    );
  }
}

/** Tells whether a workspace may have public workflows. */
export type AllowsPublicRuns = (workspaceId: string) => Promise<boolean> | boolean;

/**
 * Returns the principal of an anonymous call to a public workflow: it acts for the workflow's workspace. Throws the same
 * 401 for every other workflow, so that the caller does not learn whether the workflow exists.
 */
export async function anonymousPrincipal(
  { store, allowsPublicRuns }: { store: Pick<ApiStore, 'workflows'>; allowsPublicRuns: AllowsPublicRuns },
  workflowId: string | undefined,
): Promise<Principal> {
  const row = workflowId === undefined ? undefined : await store.workflows.find(workflowId);
  const isPublic = row && row.archived_at === null && row.active_version !== null && row.public_api === 1;
  if (!isPublic || !(await allowsPublicRuns(row.workspace_id))) throw unauthorized('Unauthorized');
  return {
    kind: 'workspace',
    credentialId: `public:${row.id}`,
    userId: null,
    workspaceId: row.workspace_id,
    scopes: ['api:write'],
    expiresAt: null,
    anonymous: true,
  };
}
