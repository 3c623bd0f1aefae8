import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';

/** What a block tells of itself when it runs. */
export interface Asking {
  /** The block's idempotency key. */
  key: string;
  try: number;
  kind: 'effect' | 'compute';
  /** The process in which it runs. */
  pid: number;
  /** How long it takes, in milliseconds. */
  ms: number;
}

/** A block that has run, or runs. */
export interface Called extends Asking {
  beganMs: number;
  /** When it was answered, or its caller was gone. */
  endedMs: number | undefined;
  answered: boolean;
}

/** The world outside: it notes who has asked it for what, and when. */
export interface EffectServer {
  readonly url: string;
  readonly calls: readonly Called[];
  /** Calls of the key, in order. */
  of(key: string): Called[];
  /** Whoever asks is answered at once from now on. */
  hurry(): void;
  close(): Promise<void>;
}

/** An effect server on the loopback address. */
export async function startEffectServer(): Promise<EffectServer> {
  const calls: Called[] = [];
  const hurry = new AbortController();
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const asked = JSON.parse(await text(request)) as Asking;
    const call: Called = { ...asked, beganMs: Date.now(), endedMs: undefined, answered: false };
    calls.push(call);
    const gone = new AbortController();
    response.once('close', () => {
      call.endedMs ??= Date.now();
      gone.abort();
    });
    const signal = AbortSignal.any([gone.signal, hurry.signal]);
    await delay(call.ms, undefined, { signal }).catch(() => undefined);
    if (gone.signal.aborted) return;
    call.answered = true;
    response.end('{}');
  };
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    calls,
    of: (key) => calls.filter((call) => call.key === key),
    hurry: () => hurry.abort(),
    close: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}
