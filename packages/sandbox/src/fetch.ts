import { isEgressError } from './egress/error.ts';
import type { EgressRequest, EgressResponse } from './egress/types.ts';
import { readObject } from './failure.ts';
import { MOST_HEAD_CHARS } from './frames.ts';
import type { FetchContext } from './options.ts';
import type { Job } from './pool/job.ts';
import type { HostAnswer, HostCall } from './protocol.ts';

/** As long as a request can be of use to a job. */
const LONGEST_MS = 3_600_000;

type Send = (request: EgressRequest, context: FetchContext) => Promise<EgressResponse>;

const isPair = (value: unknown): value is [string, string] =>
  Array.isArray(value) && value.length === 2 && typeof value[0] === 'string' && typeof value[1] === 'string';

/** A guest's request, and how long it waits for the answer. */
interface GuestRequest {
  readonly request: EgressRequest;
  readonly timeoutMs: number | null;
}

const readTimeout = (ms: unknown): number | null =>
  typeof ms === 'number' && ms >= 0 ? Math.min(Math.ceil(ms), LONGEST_MS) : null;

/** The request in a guest's call, or null where the call has not the shape of one. */
function readRequest({ op, head, body }: HostCall): GuestRequest | null {
  const fields = op === 'fetch' ? readObject(head) : null;
  if (fields === null) return null;
  const { url, method, headers, redirect, timeoutMs } = fields;
  if (
    typeof url !== 'string' ||
    typeof method !== 'string' ||
    !Array.isArray(headers) ||
    !headers.every(isPair)
  )
    return null;
  const follow = redirect === 'manual' || redirect === 'error' ? redirect : 'follow';
  return { request: { url, method, headers, body, redirect: follow }, timeoutMs: readTimeout(timeoutMs) };
}

function refuse(code: string, message: string): HostAnswer {
  return { ok: false, head: JSON.stringify({ code, message }), body: null };
}

/** Carries out one host call of a guest; errors become texts, since no object of the host may cross. */
export async function answerCall(job: Job, call: HostCall, send: Send): Promise<HostAnswer> {
  // Few objects in a guest can be millions in its JSON: parsing that would hold up the host.
  if (call.head.length > MOST_HEAD_CHARS)
    return refuse(
      'EGRESS_DENIED',
      `The request has more than ${MOST_HEAD_CHARS} characters besides its body.`,
    );
  const asked = readRequest(call);
  if (asked === null) return refuse('SANDBOX_PROTOCOL', 'The host does not know this call.');
  const { request, timeoutMs } = asked;
  const late = timeoutMs === null ? null : AbortSignal.timeout(timeoutMs);
  const signal = late === null ? job.stopped.signal : AbortSignal.any([job.stopped.signal, late]);
  try {
    const { status, statusText, url, redirected, headers, body } = await send(
      { ...request, signal, allowance: job.allowance },
      { runId: job.runId, tenant: job.tenant, signal },
    );
    return { ok: true, head: JSON.stringify({ status, statusText, url, redirected, headers }), body };
  } catch (error) {
    if (late?.aborted === true)
      return refuse('EGRESS_TIMEOUT', `The request had no answer within ${timeoutMs} ms.`);
    const message = error instanceof Error ? error.message : 'The request failed.';
    return refuse(isEgressError(error) ? error.code : 'FETCH_FAILED', message.slice(0, 1_000));
  }
}
