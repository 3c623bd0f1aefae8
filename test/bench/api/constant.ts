import { Hono } from 'hono';
import { waitForGate } from './blocks.ts';
import { CONSTANT_RESPONSE, formatSseEvent, SSE_EVENTS } from './contender.ts';
import type { Contender } from './contender.ts';

/** Opens a handler with constant responses. The cost of a request is that of Node.js, the listener and Hono. */
export async function open(): Promise<Contender> {
  const app = new Hono();
  app.post('/run', async (c) => {
    await c.req.json();
    return c.json(CONSTANT_RESPONSE);
  });
  app.post('/wait', async (c) => {
    await c.req.json();
    return new Response(createEventStream(), { headers: { 'Content-Type': 'text/event-stream' } });
  });
  const headers = { 'Content-Type': 'application/json' };
  return {
    fetch: (request) => app.fetch(request),
    run: { path: '/run', headers },
    wait: { path: '/wait', headers },
    close: () => Promise.resolve(),
  };
}

function createEventStream(): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return new ReadableStream<Uint8Array>({
    async start(controller) {
      const send = (value: unknown): void => controller.enqueue(encoder.encode(formatSseEvent(value)));
      send(SSE_EVENTS.first);
      await waitForGate();
      send(SSE_EVENTS.final);
      send(SSE_EVENTS.done);
      controller.close();
    },
  });
}
