import { get, NativeError, NativeMap, NativePromise, parse, remove, set, stringify } from './primordials.ts';
import { send } from './channel.ts';

/** The host's answer: JSON, and bytes as a binary string (one char per byte). */
export interface Reply {
  readonly head: unknown;
  readonly body: string;
}

interface Waiter {
  readonly resolve: (reply: Reply) => void;
  readonly reject: (error: Error) => void;
}

const pendingCalls = new NativeMap<number, Waiter>();
let lastId = 0;

/** Calls the host. The promise settles in a later entry. */
export function hostCall(op: string, head: object, body: string | undefined): Promise<Reply> {
  return new NativePromise<Reply>((resolve, reject) => {
    const id = ++lastId;
    set(pendingCalls, id, { resolve, reject });
    const json = stringify(head);
    send(
      'C' + id + ':' + op + ':' + (body === undefined ? '-' : '+') + json.length + ':' + json + (body ?? ''),
    );
  });
}

/** Settles a call; called by the process. Errors are created here, so that no object of the host enters the realm. */
export function deliver(id: number, ok: boolean, head: string, body: string): void {
  const waiter = get(pendingCalls, id);
  if (waiter === undefined) return;
  remove(pendingCalls, id);
  if (ok) {
    waiter.resolve({ head: parse(head), body });
    return;
  }
  const { code, message } = parse(head) as { code: string; message: string };
  const error = new NativeError(message) as Error & { code: string };
  error.code = code;
  waiter.reject(error);
}
