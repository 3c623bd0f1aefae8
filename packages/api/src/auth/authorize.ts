import { ApiError, forbidden, notFound } from '../errors.ts';
import type { Role, Scope } from './roles.ts';
import type { ApiStore } from '../store/open.ts';
import type { Principal } from './principal.ts';

/** What a call without a credential is told. */
export const NO_CREDENTIAL = 'API key or OAuth access token required';

const RANK: Record<Role, number> = { read: 1, write: 2, admin: 3 };

/** What an operation asks of its caller. */
export interface Demand {
  scope: Scope;
  role: Role;
  workspaceKeys: boolean;
}

/** Throws 403 when the credential may not do what the operation does. */
export function expectScope(principal: Principal, { scope }: Pick<Demand, 'scope'>): void {
  const { scopes } = principal;
  if (scopes.includes(scope) || (scope === 'api:read' && scopes.includes('api:write'))) return;
  throw forbidden('INSUFFICIENT_SCOPE', `This operation needs the scope ${scope}`);
}

/**
 * Throws when the caller may not do this in the workspace: 404 with the resource's own noun for who may not know of
 * it, 403 with the reason for who may.
 */
export async function expectAccess(
  store: Pick<ApiStore, 'workspaces'>,
  principal: Principal,
  workspaceId: string,
  demand: Pick<Demand, 'role' | 'workspaceKeys'> & { noun: string },
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
  demand: Pick<Demand, 'role' | 'workspaceKeys'> & { noun: string },
): void {
  if (principal.workspaceId !== workspaceId) throw notFound(demand.noun);
  if (demand.workspaceKeys && demand.role !== 'admin') return;
  throw forbidden('WORKSPACE_KEY_OPERATION_NOT_PERMITTED', 'Workspace API keys cannot call this operation');
}

/** 401 with the challenge that fits what was sent. */
export function unauthorized(message: string, bearer = false): ApiError {
  const key = 'ApiKey realm="Heddle API", header="x-api-key"';
  const challenge = bearer ? `Bearer realm="Heddle API", error="invalid_token", ${key}` : key;
  return new ApiError(401, message, { headers: { 'WWW-Authenticate': challenge } });
}
