import type { JsonObject } from '@heddle/core';
import { publicPrincipal } from '../../auth/authorize.ts';
import { capacitySubjectOf } from '../../auth/principal.ts';
import type { AreaContext } from '../../context.ts';
import { withEndCallback } from '../../http/stream.ts';
import type { Definition } from '../../ports.ts';
import { executeCall } from './execute.ts';
import { executeBody } from './schemas.ts';
import type { PageTrigger } from './start.ts';

/** A run that a person without a credential starts on a page of a workflow. */
export interface WebPageRun {
  page: PageTrigger;
  input: JsonObject;
  /** Selectors of the outputs that are streamed as their blocks end. Absent: the output of the run. */
  selectedOutputs?: readonly string[];
  /** Cancels the run when it aborts. */
  signal: AbortSignal;
  /** Scheme, host and base path of the API. */
  origin: string;
}

/**
 * Runs the live version and returns the event stream of the run. The limits of unauthenticated callers apply, and
 * messages of the engine are hidden, as in the execute operation. The caller must have checked that the person may run
 * the workflow. Throws an ApiError if the run is refused.
 */
export async function executeFromWebPage(
  services: AreaContext,
  workflow: Definition,
  { page, input, selectedOutputs, signal, origin }: WebPageRun,
): Promise<Response> {
  const principal = publicPrincipal(workflow);
  const body = executeBody.parse({
    input,
    stream: true,
    ...(selectedOutputs && { selectedOutputs: [...selectedOutputs] }),
  });
  const slot = services.capacityLimiter.acquire(capacitySubjectOf(principal));
  try {
    slot.countForWorkspace(workflow.workspaceId);
    const call = { body, headers: new Headers(), principal, signal, origin, page };
    const reply = await executeCall(services, call, workflow);
    if (!('raw' in reply)) throw new TypeError('The run has no stream.');
    return withEndCallback(reply.raw, () => slot.release());
  } catch (error) {
    slot.release();
    throw error;
  }
}
