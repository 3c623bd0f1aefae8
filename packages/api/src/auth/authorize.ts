import type { AreaContext } from '../context.ts';
import { ApiError, NO_CREDENTIAL, forbidden, isApiError, notFound, unauthorized } from '../errors.ts';
import type { ApiDetailCode } from '../errors.ts';
import type { AnyOperation } from '../operation.ts';
import type { AccessDecision, Definition } from '../ports.ts';
import { AUTHENTICATED_PRINCIPALS } from './principal.ts';
import type { Principal, Role, Scope } from './principal.ts';

/** Throws 403 when the credential lacks the scope; for an access token with the challenge of RFC 6750. */
function requireScope({ kind, scopes }: Principal, scope: Scope): void {
  if (scopes.includes(scope) || (scope === 'api:read' && scopes.includes('api:write'))) return;
  const challenge = `Bearer realm="Heddle API", error="insufficient_scope", scope="${scope}"`;
  throw new ApiError(403, `This operation needs the scope ${scope}`, {
    details: { code: 'INSUFFICIENT_SCOPE' },
    ...(kind === 'oauth' && { headers: { 'WWW-Authenticate': challenge } }),
  });
}

/**
 * Throws 401 or 403 when the principal may not call the operation on any resource, because of its kind or scopes. A
 * workspace key is refused later: with 404 for a resource of another workspace.
 */
export function requirePrincipalAllowed(
  principal: Principal,
  { principals, scope }: Pick<AnyOperation, 'principals' | 'scope'>,
): void {
  const { kind, anonymous } = principal;
  if (anonymous && !principals.includes('anonymous')) throw unauthorized(NO_CREDENTIAL);
  if (kind !== 'workspace' && !principals.includes(kind)) {
    throw forbidden('PRINCIPAL_KIND_NOT_PERMITTED', 'Credentials of this kind cannot call this operation');
  }
  requireScope(principal, scope);
}

/** Throws 403 for a workspace key when the operation does not allow workspace keys. */
export function requireWorkspaceKeyAllowed(
  { kind }: Principal,
  { principals }: Pick<AnyOperation, 'principals'>,
): void {
  if (kind !== 'workspace' || principals.includes('workspace')) return;
  throw forbidden('WORKSPACE_KEY_OPERATION_NOT_PERMITTED', 'Workspace API keys cannot call this operation');
}

/** The access that a caller needs in a workspace or an organization. */
export interface RequiredAccess extends Pick<AnyOperation, 'principals' | 'capability'> {
  role: Role;
  /** The kind of resource in the 404 message, such as `Workflow`. */
  displayName: string;
}

const REASONS: { [code in ApiDetailCode]?: (requiredAccess: RequiredAccess) => string } = {
  ORGANIZATION_MEMBERSHIP_REQUIRED: () => 'This operation is for members of the organization',
  ORGANIZATION_ADMIN_REQUIRED: () => 'This operation is for admins of the organization',
  PERSONAL_API_KEYS_DISABLED: () => 'Personal API keys are disabled in this workspace',
  INSUFFICIENT_WORKSPACE_ROLE: ({ role }) => `This operation needs the role ${role} in the workspace`,
  PERMISSION_GROUP_CAPABILITY_BLOCKED: ({ capability }) =>
    `The workspace blocks ${capability ?? 'this operation'} for you`,
};

/**
 * Throws when the caller lacks this access in the workspace: 404 with `displayName` for callers from whom the workspace
 * is concealed, 403 with the reason for others.
 */
export async function requireAccess(
  { access }: Pick<AreaContext, 'access'>,
  principal: Principal,
  workspaceId: string,
  requiredAccess: RequiredAccess,
): Promise<void> {
  const { role, capability, displayName } = requiredAccess;
  if (principal.kind === 'workspace') {
    if (principal.workspaceId !== workspaceId) throw notFound(displayName);
    return requireWorkspaceKeyAllowed(principal, requiredAccess);
  }
  requireGranted(await access.check(principal, workspaceId, role, capability), requiredAccess);
}

/**
 * Throws as `requireAccess` does. A workspace key, which belongs to no organization, gets the same 403 for every
 * organization.
 */
export async function requireOrganizationAccess(
  { access }: Pick<AreaContext, 'access'>,
  principal: Principal,
  organizationId: string,
  requiredAccess: RequiredAccess,
): Promise<void> {
  requireWorkspaceKeyAllowed(principal, { principals: [] });
  const { role, capability } = requiredAccess;
  const decision = await access.checkOrganization?.(principal, organizationId, role, capability);
  requireGranted(decision ?? 'concealed', requiredAccess);
}

function requireGranted(decision: AccessDecision, requiredAccess: RequiredAccess): void {
  if (decision === 'granted') return;
  if (decision === 'concealed') throw notFound(requiredAccess.displayName);
  throw forbidden(decision, REASONS[decision]?.(requiredAccess) ?? 'This operation is not permitted here');
}

/** Returns true if the caller may start, resume and cancel runs in the workspace. */
export async function mayWrite(
  context: Pick<AreaContext, 'access'>,
  principal: Principal,
  workspaceId: string,
): Promise<boolean> {
  if (!principal.scopes.includes('api:write')) return false;
  try {
    await requireAccess(context, principal, workspaceId, {
      role: 'write',
      principals: AUTHENTICATED_PRINCIPALS,
      displayName: 'Workspace',
    });
    return true;
  } catch (error) {
    if (isApiError(error)) return false;
    throw error;
  }
}

/** Returns the workspaces of the caller, in which an id is looked up if the request names no workspace. */
export async function workspaceIdsOf(
  { access }: Pick<AreaContext, 'access'>,
  principal: Principal,
): Promise<readonly string[]> {
  const { kind, workspaceId } = principal;
  if (kind === 'workspace') return workspaceId === null ? [] : [workspaceId];
  return (await access.listWorkspaceIds?.(principal)) ?? [];
}

/**
 * Returns the principal of an anonymous call to a public workflow: it acts for the workflow's workspace. Throws the
 * same 401 for every other workflow, so that the caller does not learn whether the workflow exists.
 */
export async function anonymousPrincipal(
  { definitions, publicRuns }: Pick<AreaContext, 'definitions' | 'publicRuns'>,
  workflowId: string | undefined,
): Promise<Principal> {
  const workflow = workflowId === undefined ? undefined : await definitions.find(workflowId);
  const isPublic =
    workflow?.isPublic === true && workflow.liveVersion !== undefined && workflow.isArchived !== true;
  if (!isPublic || !(await publicRuns?.allows(workflow.workspaceId))) throw unauthorized('Unauthorized');
  return publicPrincipal(workflow);
}

/** Returns the principal of unauthenticated callers who may run the workflow. */
export function publicPrincipal({ id, workspaceId }: Pick<Definition, 'id' | 'workspaceId'>): Principal {
  return {
    kind: 'workspace',
    credentialId: `public:${id}`,
    userId: null,
    workspaceId,
    scopes: ['api:write'],
    expiresAt: null,
    anonymous: true,
  };
}
