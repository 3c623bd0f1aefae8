import type { AreaContext } from '../context.ts';
import {
  anonymousPrincipal,
  requireAccess,
  requireOrganizationAccess,
  requirePrincipalAllowed,
  requireWorkspaceKeyAllowed,
} from '../auth/authorize.ts';
import { capacitySubjectOf } from '../auth/principal.ts';
import type { Principal } from '../auth/principal.ts';
import { notFound, refusalOf } from '../errors.ts';
import { withEndCallback } from '../http/stream.ts';
import type { AnyOperation, Call, RecordedAction, Reply } from '../operation.ts';
import type { AuditEvent } from '../ports.ts';
import type { LocatedResource } from '../resource.ts';
import { acquireCallSlot } from './admit-run.ts';
import { callChainOf } from './call-chain.ts';
import type { CapacitySlot } from './capacity.ts';
import { AUTHENTICATED_LIMITS } from './input-limits.ts';
import type { InputLimits } from './input-limits.ts';
import type { Release } from './usage.ts';

/** An operation and the services of its handler. */
export interface ServedOperation {
  operation: AnyOperation;
  services: unknown;
}

/** A call whose credential has been checked and whose input has not been read. */
export interface UnreadCall extends Pick<
  Call<never, never, never>,
  'headers' | 'signal' | 'origin' | 'basePath' | 'isHead'
> {
  /** Undefined for an unauthenticated call. */
  principal: Principal | undefined;
  /** The workflow id in the path, not validated. */
  workflowId: string | undefined;
  /** Reads path, query and body, and validates them against the operation's schemas. Throws 400, 408, 413, 415. */
  read: (limits: InputLimits) => Promise<Input>;
}

interface Input {
  path: object;
  query: object;
  body: unknown;
}

type AdmittedCall = Input & { principal: Principal } & Omit<UnreadCall, 'principal' | 'workflowId' | 'read'>;

/**
 * Runs the operation and returns its reply. The checks run in this order: kind and scope of the caller, call chain,
 * anonymous access, input, capacity, cross-field rules, access to the resource.
 */
export async function admit(
  context: AreaContext,
  servedOperation: ServedOperation,
  { principal: caller, workflowId, read, isHead = false, ...request }: UnreadCall,
): Promise<Reply> {
  const { operation } = servedOperation;
  if (caller) requirePrincipalAllowed(caller, operation);
  // Only validates the call chain. The handler reads it again.
  if (operation.executesWorkflow) callChainOf(request.headers);
  const principal = caller ?? (await anonymousPrincipal(context, workflowId));
  const input = await read(principal.anonymous ? context.publicInputLimits : AUTHENTICATED_LIMITS);
  const call = { ...request, isHead, principal, ...input };
  const releases: Release[] = [];
  const release = () => releases.splice(0).forEach((releaseOne) => releaseOne());
  try {
    // The slots are taken after the body has arrived: a client that stops sending must not hold a slot.
    const slot = await takeSlots(context, { operation, principal }, releases);
    const reply = await authorizeAndHandle(context, servedOperation, call, slot);
    // A stream holds its slots until it ends.
    if ('raw' in reply && releases.length > 0) return { raw: withEndCallback(reply.raw, release) };
    release();
    return reply;
  } catch (error) {
    release();
    throw error;
  }
}

/**
 * Takes the slots of a call and adds their release functions to `releases`. Returns the slot of the execution, if the
 * operation executes a workflow. Throws 429, 503.
 */
async function takeSlots(
  context: AreaContext,
  { operation, principal }: { operation: AnyOperation; principal: Principal },
  releases: Release[],
): Promise<CapacitySlot | undefined> {
  const caller = capacitySubjectOf(principal);
  const releaseCall = await acquireCallSlot(context, operation.id, caller);
  if (releaseCall) releases.push(releaseCall);
  if (!operation.executesWorkflow) return undefined;
  const slot = context.capacityLimiter.acquire(caller);
  releases.push(() => slot.release());
  return slot;
}

async function authorizeAndHandle(
  context: AreaContext,
  { operation, services }: ServedOperation,
  call: AdmittedCall,
  slot: CapacitySlot | undefined,
): Promise<Reply> {
  operation.check?.(call as never);
  const { value, workspaceIds } = await findAuthorizedResource(context, { operation, services }, call);
  const [workspaceId] = workspaceIds;
  if (workspaceId !== undefined) slot?.countForWorkspace(workspaceId);
  const recorder = createRecorder(context, operation, { principal: call.principal, workspaceId });
  return operation.handle(services as never, { ...call, ...recorder } as never, value as never);
}

type Recorder = Pick<Call<never, never, never>, 'recordAudit' | 'runAudited'>;

/** Returns functions that record the audit actions of the operation. */
function createRecorder(
  { audit }: AreaContext,
  { id, audit: declaredAudit }: AnyOperation,
  { principal, workspaceId }: { principal: Principal; workspaceId: string | undefined },
): Recorder {
  function eventOf(recordedAction: RecordedAction): AuditEvent {
    const { action = declaredAudit?.actions[0] ?? '', resourceId, details } = recordedAction;
    if (!declaredAudit?.actions.includes(action))
      throw new TypeError(`The operation ${id} does not declare the audit action "${action}".`);
    return {
      ...{ action, resourceId, details, principal },
      workspaceId: recordedAction.workspaceId ?? workspaceId,
      resourceType: recordedAction.resourceType ?? declaredAudit.resourceType,
    };
  }
  return {
    recordAudit: async (recordedAction, transaction) => audit.record(eventOf(recordedAction), transaction),
    async runAudited(recordedAction, runAction, hasTakenEffect = () => true) {
      const event = eventOf(recordedAction);
      const preparedEvent = await audit.prepare?.(event);
      const result = await runAction().catch(async (error: unknown) => {
        // After an internal error it is unknown whether the action happened: the event stays, with the outcome
        // `intended`.
        if ((refusalOf(error)?.status ?? 500) < 500) await preparedEvent?.abort();
        throw error;
      });
      if (!hasTakenEffect(result)) await preparedEvent?.abort();
      else if (preparedEvent) await preparedEvent.confirm();
      else await audit.record(event);
      return result;
    },
  };
}

/** Finds the resource of the call and checks the caller's access to its workspaces and organizations. */
async function findAuthorizedResource(
  context: AreaContext,
  { operation, services }: ServedOperation,
  call: AdmittedCall,
): Promise<LocatedResource<unknown>> {
  const { resource } = operation;
  if (resource.kind === 'none' || resource.kind === 'organization')
    requireWorkspaceKeyAllowed(call.principal, operation);
  const { displayName } = resource;
  const locatedResource = await resource.find(call, services as never, context);
  if (!locatedResource) throw notFound(displayName);
  for (const workspaceId of new Set(locatedResource.workspaceIds))
    await requireAccess(context, call.principal, workspaceId, { ...operation, displayName });
  for (const organizationId of new Set(locatedResource.organizationIds))
    await requireOrganizationAccess(context, call.principal, organizationId, { ...operation, displayName });
  return locatedResource;
}
