import { randomUUID } from 'node:crypto';
import type { Json } from '@heddle/core';
import { createEngine } from '@heddle/engine';
import type { RunHandle } from '@heddle/engine';
import { Hono } from 'hono';
import { streamSSE } from 'hono/streaming';
import { BLOCKS, STEP_WORKFLOW, WAIT_WORKFLOW } from './blocks.ts';
import type { Contender } from './contender.ts';

interface Body {
  input?: Json;
  async?: boolean;
  stream?: boolean;
}

/** Opens a minimal Hono handler that calls the engine, without keys, records or checks. */
export async function open(folder: string | undefined): Promise<Contender> {
  const engine = await createEngine({ blocks: BLOCKS, ...(folder !== undefined && { data: folder }) });
  const app = new Hono();
  for (const [path, exportedWorkflow] of Object.entries({ '/run': STEP_WORKFLOW, '/wait': WAIT_WORKFLOW })) {
    const { workflowId, version } = await engine.deploy(exportedWorkflow);
    app.post(path, async (c) => {
      const { input = {}, async: isAsync, stream } = await c.req.json<Body>();
      const run = await engine.start(workflowId, input, { version });
      if (isAsync) return c.json({ data: { runId: run.runId } }, 202);
      return stream ? streamRun(c, run) : c.json({ data: await run.result() });
    });
  }
  app.post('/webhook', async (c) => {
    await c.req.json();
    return c.json({ success: true, runId: randomUUID() });
  });
  const headers = { 'Content-Type': 'application/json' };
  return {
    webhook: { path: '/webhook', headers },
    fetch: (request) => app.fetch(request),
    run: { path: '/run', headers },
    wait: { path: '/wait', headers },
    close: () => engine.close({ graceMs: 0 }),
  };
}

function streamRun(c: Parameters<typeof streamSSE>[0], run: RunHandle): Response {
  return streamSSE(c, async (stream) => {
    const send = (value: unknown): Promise<void> => stream.writeSSE({ data: JSON.stringify(value) });
    for await (const event of run.events()) {
      if (event.type !== 'block:completed' || event.log.blockName !== 'S1') continue;
      await send({ blockId: 'S1', chunk: String((event.output as { n: number }).n) });
    }
    const { status, output } = await run.result();
    await send({ event: 'final', data: { success: status === 'completed', output } });
    await send('[DONE]');
  });
}
