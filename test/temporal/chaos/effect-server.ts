import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';

/** The call of a running block. */
export interface Asking {
  /** The block's idempotency key. */
  key: string;
  try: number;
  kind: 'effect' | 'compute';
  /** Id of the process in which the block runs. */
  pid: number;
  /** Milliseconds until the answer. */
  ms: number;
}

/** A call of a block that has run or is running. */
export interface Called extends Asking {
  beganMs: number;
  /** Time of the answer, or of the disconnect of the caller. */
  endedMs: number | undefined;
  answered: boolean;
}

/** A server that records the calls of blocks with their times. */
export interface EffectServer {
  readonly url: string;
  readonly calls: readonly Called[];
  /** Returns the calls of the key, in order. */
  of(key: string): Called[];
  /** Answers all current and later calls immediately. */
  hurry(): void;
  close(): Promise<void>;
}

/** Starts an effect server on the loopback address. */
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
