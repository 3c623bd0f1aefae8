import { isEgressError } from './egress/error.ts';
import type { EgressRequest, EgressResponse } from './egress/types.ts';
import { readObject } from './failure.ts';
import { MAX_HEAD_CHARS } from './frames.ts';
import type { FetchContext } from './options.ts';
import type { Job } from './pool/job.ts';
import type { HostResponse, HostCall } from './protocol.ts';

/** Maximum timeout of a request, in milliseconds. */
const MAX_TIMEOUT_MS = 3_600_000;

type SendRequest = (request: EgressRequest, context: FetchContext) => Promise<EgressResponse>;

const isPair = (value: unknown): value is [string, string] =>
  Array.isArray(value) && value.length === 2 && typeof value[0] === 'string' && typeof value[1] === 'string';

/** A guest's request and its timeout. */
interface GuestRequest {
  readonly request: EgressRequest;
  readonly timeoutMs: number | undefined;
}

const readTimeout = (ms: unknown): number | undefined =>
  typeof ms === 'number' && ms >= 0 ? Math.min(Math.ceil(ms), MAX_TIMEOUT_MS) : undefined;

/** Returns the request of a host call, or undefined if the call does not have that shape. */
function readRequest({ op, head, body }: HostCall): GuestRequest | undefined {
  const fields = op === 'fetch' ? readObject(head) : undefined;
  if (fields === undefined) return undefined;
  const { url, method, headers, redirect, timeoutMs } = fields;
  if (
    typeof url !== 'string' ||
    typeof method !== 'string' ||
    !Array.isArray(headers) ||
    !headers.every(isPair)
  )
    return undefined;
  const redirectMode = redirect === 'manual' || redirect === 'error' ? redirect : 'follow';
  const request = { url, method, headers, body: body ?? undefined, redirect: redirectMode } as const;
  return { request, timeoutMs: readTimeout(timeoutMs) };
}

function errorResponse(code: string, message: string): HostResponse {
  return { ok: false, head: JSON.stringify({ code, message }), body: null };
}

/** Answers one host call of a guest. Errors become text, because no host object may enter the guest. */
export async function handleCall(job: Job, call: HostCall, send: SendRequest): Promise<HostResponse> {
  // A small guest object can expand to huge JSON, and parsing that would block the host.
  if (call.head.length > MAX_HEAD_CHARS)
    return errorResponse(
      'EGRESS_DENIED',
      `The request has more than ${MAX_HEAD_CHARS} characters besides its body.`,
    );
  const guestRequest = readRequest(call);
  if (guestRequest === undefined)
    return errorResponse('SANDBOX_PROTOCOL', 'The host does not know this call.');
  const { request, timeoutMs } = guestRequest;
  const timeoutSignal = timeoutMs === undefined ? undefined : AbortSignal.timeout(timeoutMs);
  const jobSignal = job.stopController.signal;
  const signal = timeoutSignal === undefined ? jobSignal : AbortSignal.any([jobSignal, timeoutSignal]);
  try {
    const { status, statusText, url, redirected, headers, body } = await send(
      { ...request, signal, byteQuota: job.byteQuota },
      { runId: job.runId, tenant: job.tenant, signal },
    );
    return { ok: true, head: JSON.stringify({ status, statusText, url, redirected, headers }), body };
  } catch (error) {
    if (timeoutSignal?.aborted === true)
      return errorResponse('EGRESS_TIMEOUT', `The request got no response within ${timeoutMs} ms.`);
    const message = error instanceof Error ? error.message : 'The request failed.';
    return errorResponse(isEgressError(error) ? error.code : 'FETCH_FAILED', message.slice(0, 1_000));
  }
}
