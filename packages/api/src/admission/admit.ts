import { expectAccess, expectPrincipal, expectWorkspaceKeys } from '../auth/authorize.ts';
import { capacitySubjectOf } from '../auth/principal.ts';
import { publicCaller } from '../auth/public.ts';
import type { Principal } from '../auth/principal.ts';
import { notFound } from '../errors.ts';
import type { AnyOperation, Reply } from '../operation.ts';
import type { Services } from '../services.ts';
import type { WorkflowRow } from '../store/schema.ts';
import type { CapacitySlot } from './capacity.ts';
import { callChainOf } from './call-chain.ts';
import { KNOWN_CALLERS } from './input-limits.ts';
import type { InputLimits } from './input-limits.ts';

/** What was sent, before and after it was read. */
export interface Sent {
  /** Null: nobody has said who calls. */
  principal: Principal | null;
  /** As the path has it, before it is read. */
  workflowId: string | undefined;
  headers: Headers;
  signal: AbortSignal;
  origin: string;
  /** True: the answer's body is not sent. */
  head?: boolean;
  /** Reads path, query and body by the schemas of the operation. Throws 400, 408, 413, 415. */
  read(limits: InputLimits): Promise<{ path: object; query: object; body: unknown }>;
}

/**
 * The reply of an operation to a caller whose credential is known, in the order in which refusals are told: scope, the
 * chain of calls, whether the workflow is public for those without a credential, the form of what was sent, capacity,
 * rules between fields, access, then the operation.
 */
export async function admit(services: Services, operation: AnyOperation, sent: Sent): Promise<Reply> {
  const { headers } = sent;
  if (sent.principal) expectPrincipal(sent.principal, operation);
  if (operation.executes) callChainOf(headers);
  const principal = sent.principal ?? (await publicCaller(services, sent.workflowId));
  const read = await sent.read(principal.anonymous ? services.publicInputs : KNOWN_CALLERS);
  // Only now: a caller that sends nothing more would hold a place for nothing.
  const ticket = operation.executes ? services.capacity.acquire(capacitySubjectOf(principal)) : undefined;
  try {
    const { signal, origin, head = false } = sent;
    const call = { principal, headers, signal, origin, head, ...read };
    const reply = await carryOut(services, operation, { call, ticket });
    // A stream holds its place until it ends.
    if ('raw' in reply && ticket) return { raw: afterwards(reply.raw, () => ticket.release()) };
    ticket?.release();
    return reply;
  } catch (error) {
    ticket?.release();
    throw error;
  }
}

type Calling = Read & Omit<Sent, 'principal' | 'workflowId' | 'read'>;

async function carryOut(
  services: Services,
  operation: AnyOperation,
  { call, ticket }: { call: Calling; ticket: CapacitySlot | undefined },
): Promise<Reply> {
  operation.check?.(call as never);
  const workflow = await resourceOf(services, operation, call);
  if (workflow) ticket?.joinWorkspace(workflow.workspace_id);
  return operation.handle(services, call as never, workflow);
}

type Read = { principal: Principal; path: object; query: object; body: unknown };

async function resourceOf(
  services: Services,
  operation: AnyOperation,
  call: Read,
): Promise<WorkflowRow | undefined> {
  const { resource } = operation;
  if (resource === 'none') {
    expectWorkspaceKeys(call.principal, operation);
    return undefined;
  }
  if (resource === 'workflow') {
    const { workflowId } = call.path as { workflowId: string };
    const workflow = await services.store.workflows.find(workflowId);
    const there = workflow && (workflow.archived_at === null || operation.archived === true);
    if (!there) throw notFound('Workflow');
    await access(services, operation, call.principal, { id: workflow.workspace_id, noun: 'Workflow' });
    return workflow;
  }
  const from = (resource === 'workspaceInQuery' ? call.query : call.body) as { workspaceId: string };
  await access(services, operation, call.principal, { id: from.workspaceId, noun: 'Workspace' });
  return undefined;
}

async function access(
  { store }: Services,
  operation: AnyOperation,
  principal: Principal,
  { id, noun }: { id: string; noun: string },
): Promise<void> {
  const { role, workspaceKeys } = operation;
  await expectAccess(store, principal, id, { role, workspaceKeys, noun });
}

/** The response, with `leave` called when its body has been read, or is read no more. */
function afterwards(response: Response, leave: () => void): Response {
  if (!response.body) {
    leave();
    return response;
  }
  const reader = response.body.getReader() as ReadableStreamDefaultReader<Uint8Array>;
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (!done) return controller.enqueue(value);
        leave();
        controller.close();
      } catch (error) {
        leave();
        controller.error(error);
      }
    },
    async cancel(reason) {
      leave();
      await reader.cancel(reason);
    },
  });
  return new Response(body, { status: response.status, headers: response.headers });
}
