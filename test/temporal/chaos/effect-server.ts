import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';

/** The request that a running block sends. */
export interface EffectRequest {
  /** The block's idempotency key. */
  key: string;
  try: number;
  kind: 'effect' | 'compute';
  /** Id of the process in which the block runs. */
  pid: number;
  /** Milliseconds until the response. */
  ms: number;
}

/** A recorded request, with the times at which it started and ended. */
export interface EffectCall extends EffectRequest {
  startedMs: number;
  /** Time of the response, or time at which the caller disconnected. */
  endedMs: number | undefined;
  answered: boolean;
}

/** A server that records the calls of blocks. */
export interface EffectServer {
  readonly url: string;
  readonly calls: readonly EffectCall[];
  /** Returns the calls with this idempotency key, in order. */
  callsOf(key: string): EffectCall[];
  /** Responds to all current and later calls immediately. */
  respondImmediately(): void;
  close(): Promise<void>;
}

/** Starts an effect server on the loopback address. */
export async function startEffectServer(): Promise<EffectServer> {
  const calls: EffectCall[] = [];
  const immediateController = new AbortController();
  const respond = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = JSON.parse(await text(request)) as EffectRequest;
    const call: EffectCall = { ...body, startedMs: Date.now(), endedMs: undefined, answered: false };
    calls.push(call);
    const disconnectController = new AbortController();
    response.once('close', () => {
      call.endedMs ??= Date.now();
      disconnectController.abort();
    });
    const signal = AbortSignal.any([disconnectController.signal, immediateController.signal]);
    await delay(call.ms, undefined, { signal }).catch(() => undefined);
    if (disconnectController.signal.aborted) return;
    call.answered = true;
    response.end('{}');
  };
  const server = createServer((request, response) => {
    respond(request, response).catch(() => response.destroy());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    calls,
    callsOf: (key) => calls.filter((call) => call.key === key),
    respondImmediately: () => immediateController.abort(),
    close: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}
