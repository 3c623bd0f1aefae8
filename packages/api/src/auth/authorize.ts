import { ApiError, forbidden, notFound } from '../errors.ts';
import type { Role, Scope } from './roles.ts';
import type { ApiStore } from '../store/open.ts';
import type { Principal } from './principal.ts';

/** What a call without a credential is told. */
export const NO_CREDENTIAL = 'API key or OAuth access token required';

const RANK: Record<Role, number> = { read: 1, write: 2, admin: 3 };

/** What an operation asks of its caller. */
export interface AccessRequirement {
  scope: Scope;
  role: Role;
  workspaceKeys: boolean;
}

/** Throws 403 when the credential may not do what the operation does. */
function expectScope({ scopes }: Principal, { scope }: Pick<AccessRequirement, 'scope'>): void {
  if (scopes.includes(scope) || (scope === 'api:read' && scopes.includes('api:write'))) return;
  throw forbidden('INSUFFICIENT_SCOPE', `This operation needs the scope ${scope}`);
}

const KINDS: ReadonlySet<string> = new Set<Principal['kind']>(['personal', 'workspace', 'oauth']);

/** Throws 401 or 403 when the principal may not call the operation, whatever it is about: for its kind or its scopes. */
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

/** Throws 403 for a key of a workspace that an operation without a resource is not declared for. */
export function expectWorkspaceKeys(
  principal: Principal,
  { role, workspaceKeys }: Pick<AccessRequirement, 'role' | 'workspaceKeys'>,
): void {
  if (principal.kind !== 'workspace' || (workspaceKeys && role !== 'admin')) return;
  throw forbidden('WORKSPACE_KEY_OPERATION_NOT_PERMITTED', 'Workspace API keys cannot call this operation');
}

/**
 * Throws when the caller may not do this in the workspace: 404 with the resource's own noun for who may not know of
 * it, 403 with the reason for who may.
 */
export async function expectAccess(
  store: Pick<ApiStore, 'workspaces'>,
  principal: Principal,
  workspaceId: string,
  demand: Pick<AccessRequirement, 'role' | 'workspaceKeys'> & { noun: string },
): Promise<void> {
  if (principal.kind === 'workspace') return expectWorkspaceKey(principal, workspaceId, demand);
  const access =
    principal.userId === null ? undefined : await store.workspaces.access(workspaceId, principal.userId);
  if (!access) throw notFound(demand.noun);
  if (principal.kind === 'personal' && !access.personalKeys) {
    throw forbidden('PERSONAL_API_KEYS_DISABLED', 'Personal API keys are disabled in this workspace');
  }
  if (RANK[access.role] < RANK[demand.role]) {
    throw forbidden(
      'INSUFFICIENT_WORKSPACE_ROLE',
      `This operation needs the role ${demand.role} in the workspace`,
    );
  }
}

/** A key of a workspace acts for nobody: it may at most write, and only in its own workspace. */
function expectWorkspaceKey(
  principal: Principal,
  workspaceId: string,
  demand: Pick<AccessRequirement, 'role' | 'workspaceKeys'> & { noun: string },
): void {
  if (principal.workspaceId !== workspaceId) throw notFound(demand.noun);
  expectWorkspaceKeys(principal, demand);
}

/** 401 with the challenge that fits what was sent. */
export function unauthorized(message: string, bearer = false): ApiError {
  const key = 'ApiKey realm="Heddle API", header="x-api-key"';
  const challenge = bearer ? `Bearer realm="Heddle API", error="invalid_token", ${key}` : key;
  return new ApiError(401, message, { headers: { 'WWW-Authenticate': challenge } });
}
