import { get, NativeError, NativeMap, NativePromise, parse, remove, set, stringify } from './primordials.ts';
import { send } from './channel.ts';

/** The host's answer to a call. `head` is JSON; `body` is bytes as a binary string (one char per byte). */
export interface HostAnswer {
  readonly head: unknown;
  readonly body: string;
}

interface PendingCall {
  readonly resolve: (answer: HostAnswer) => void;
  readonly reject: (error: Error) => void;
}

const pendingCalls = new NativeMap<number, PendingCall>();
let lastId = 0;

/** Calls the host. The promise settles when the process delivers the answer. */
export function callHost(op: string, head: object, body: string | undefined): Promise<HostAnswer> {
  return new NativePromise<HostAnswer>((resolve, reject) => {
    const id = ++lastId;
    set(pendingCalls, id, { resolve, reject });
    const json = stringify(head);
    send(
      'C' + id + ':' + op + ':' + (body === undefined ? '-' : '+') + json.length + ':' + json + (body ?? ''),
    );
  });
}

/**
 * Settles a call with the host's answer; called by the process. Errors are created here, so that no object of the host
 * enters this realm.
 */
export function settleCall(id: number, ok: boolean, head: string, body: string): void {
  const pendingCall = get(pendingCalls, id);
  if (pendingCall === undefined) return;
  remove(pendingCalls, id);
  if (ok) {
    pendingCall.resolve({ head: parse(head), body });
    return;
  }
  const { code, message } = parse(head) as { code: string; message: string };
  const error = new NativeError(message) as Error & { code: string };
  error.code = code;
  pendingCall.reject(error);
}
