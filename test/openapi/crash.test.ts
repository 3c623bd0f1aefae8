import { blocks, importOpenApi } from '@heddle/blocks';
import type { Json, JsonObject } from '@heddle/core';
import { createEngine } from '@heddle/engine';
import type { Engine } from '@heddle/engine';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createDataFolder } from '../support/data-folder.ts';
import { startModelServer } from '../support/model-server.ts';
import { block, workflow } from '../support/workflow.ts';
import { SHOP, startShop } from './shop.ts';

const { file } = await importOpenApi(SHOP, { name: 'shop' });

/**
 * Runs an agent that calls an operation, closes the engine during the call, and lets a second engine finish the run.
 * Returns the requests and the tool call.
 */
async function interruptCall(operation: string, args: JsonObject) {
  const data = createDataFolder();
  let onFirstRequest: () => void = () => undefined;
  const firstRequest = new Promise<void>((resolve) => (onFirstRequest = resolve));
  const shop = await startShop(() => {
    onFirstRequest();
    return shop.requests.length === 1 ? { sendAfter: new Promise(() => undefined) } : {};
  });
  const modelServer = await startModelServer(({ body }) =>
    JSON.stringify(body).includes('function_call_output')
      ? { text: 'Done.' }
      : { toolCalls: [{ name: 'shop_call', args: { operation, arguments: args } as Json }] },
  );
  onTestFinished(async () => {
    await Promise.all([shop.close(), modelServer.close()]);
  });
  const openEngine = async (): Promise<Engine> => {
    const engine = await createEngine({
      data,
      blocks: blocks({ toolFiles: [file] }),
      services: { ...modelServer.services, shop: shop.url },
      credentials: { openai: 'key-of-openai', shop: 'key-of-the-shop' },
    });
    onTestFinished(() => engine.close({ graceMs: 0 }));
    return engine;
  };
  const agent = block('A', 'agent', {
    messages: [{ role: 'user', content: 'Go.' }],
    model: 'gpt-4o',
    tools: [{ type: 'service', toolId: 'shop' }],
  });
  const firstEngine = await openEngine();
  const run = await firstEngine.start({ workflow: workflow([agent], ['Start -> A']) });
  await firstRequest;
  await firstEngine.close({ graceMs: 0 });
  const secondEngine = await openEngine();
  // The second engine continues the run in the data folder. The events end with the run.
  for await (const _event of secondEngine.follow(run.runId));
  const { output } = await secondEngine.getRun(run.runId);
  const { toolCalls } = output as { toolCalls: { list: { result: Json; success: boolean }[] } };
  return { receivedRequests: shop.requests, call: toolCalls.list[0] };
}

describe('an operation that was interrupted by a crash', () => {
  it('is called again if its method is idempotent', async () => {
    const { receivedRequests, call } = await interruptCall('shop_deleteOrder', { id: '7' });
    expect(receivedRequests.map(({ method, url }) => `${method} ${url}`)).toEqual([
      'DELETE /orders/7',
      'DELETE /orders/7',
    ]);
    expect(call).toMatchObject({ result: { ok: true }, success: true });
  });

  it('is called again with the same key if it has an idempotency key', async () => {
    const { receivedRequests, call } = await interruptCall('shop_createOrder', { body: { article: 'lamp' } });
    const keys = receivedRequests.map(({ headers }) => headers['idempotency-key']);
    expect(keys).toHaveLength(2);
    expect(keys[0]).toMatch(/./);
    expect(keys[1]).toBe(keys[0]);
    expect(call).toMatchObject({ success: true });
  });

  it('is not called again if it is not idempotent and has no idempotency key, and the model is told that its outcome is unknown', async () => {
    const { receivedRequests, call } = await interruptCall('shop_form', { body: { name: 'x' } });
    expect(receivedRequests).toHaveLength(1);
    expect(call).toMatchObject({ success: false });
    expect(call?.result).toContain('It may have taken effect');
  });
});
