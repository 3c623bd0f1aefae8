import { anonymousPrincipal, expectAccess, expectPrincipal, expectWorkspaceKeys } from '../auth/authorize.ts';
import { capacitySubjectOf } from '../auth/principal.ts';
import type { Principal } from '../auth/principal.ts';
import { notFound } from '../errors.ts';
import { withOnEnd } from '../http/stream.ts';
import type { AnyOperation, Reply } from '../operation.ts';
import type { Services } from '../services.ts';
import type { WorkflowRow } from '../store/schema.ts';
import { callChainOf } from './call-chain.ts';
import type { CapacitySlot } from './capacity.ts';
import { AUTHENTICATED_LIMITS } from './input-limits.ts';
import type { InputLimits } from './input-limits.ts';

/** A call whose credential has been checked and whose input has not been read. */
export interface UnreadCall {
  /** Undefined for a call without a credential. */
  principal: Principal | undefined;
  /** From the path, not validated. */
  workflowId: string | undefined;
  headers: Headers;
  signal: AbortSignal;
  origin: string;
  /** The response body is not sent. */
  head?: boolean;
  /** Reads path, query and body by the schemas of the operation. Throws 400, 408, 413, 415. */
  read(limits: InputLimits): Promise<Input>;
}

interface Input {
  path: object;
  query: object;
  body: unknown;
}

type AdmittedCall = Input & { principal: Principal } & Omit<UnreadCall, 'principal' | 'workflowId' | 'read'>;

/**
 * Runs the operation and returns its reply. Checks are made, and refused, in this order: scope, call chain, anonymous
 * access, input, capacity, rules between fields, access to the resource.
 */
export async function admit(services: Services, operation: AnyOperation, unread: UnreadCall): Promise<Reply> {
  const { headers } = unread;
  if (unread.principal) expectPrincipal(unread.principal, operation);
  if (operation.executes) callChainOf(headers);
  const principal = unread.principal ?? (await anonymousPrincipal(services, unread.workflowId));
  const input = await unread.read(principal.anonymous ? services.publicInputs : AUTHENTICATED_LIMITS);
  // After the body has arrived: a client that sends nothing more must not hold a slot.
  const slot = operation.executes ? services.capacity.acquire(capacitySubjectOf(principal)) : undefined;
  try {
    const { signal, origin, head = false } = unread;
    const call = { principal, headers, signal, origin, head, ...input };
    const reply = await handle(services, operation, call, slot);
    // A stream holds its slot until it ends.
    if ('raw' in reply && slot) return { raw: withOnEnd(reply.raw, () => slot.release()) };
    slot?.release();
    return reply;
  } catch (error) {
    slot?.release();
    throw error;
  }
}

async function handle(
  services: Services,
  operation: AnyOperation,
  call: AdmittedCall,
  slot: CapacitySlot | undefined,
): Promise<Reply> {
  operation.check?.(call as never);
  const workflow = await authorizedWorkflow(services, operation, call);
  if (workflow) slot?.joinWorkspace(workflow.workspace_id);
  return operation.handle(services, call as never, workflow);
}

/** Checks access to the resource of the call. Returns the workflow where that is the resource. */
async function authorizedWorkflow(
  { store }: Services,
  operation: AnyOperation,
  { principal, path, query, body }: AdmittedCall,
): Promise<WorkflowRow | undefined> {
  const { resource, role, workspaceKeys } = operation;
  if (resource === 'none') {
    expectWorkspaceKeys(principal, operation);
    return undefined;
  }
  if (resource === 'workflow') {
    const { workflowId } = path as { workflowId: string };
    const workflow = await store.workflows.find(workflowId);
    const isVisible = workflow && (workflow.archived_at === null || operation.archived === true);
    if (!isVisible) throw notFound('Workflow');
    await expectAccess(store, principal, workflow.workspace_id, { role, workspaceKeys, noun: 'Workflow' });
    return workflow;
  }
  const { workspaceId } = (resource === 'workspaceInQuery' ? query : body) as { workspaceId: string };
  await expectAccess(store, principal, workspaceId, { role, workspaceKeys, noun: 'Workspace' });
  return undefined;
}
