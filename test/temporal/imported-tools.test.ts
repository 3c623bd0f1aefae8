import { blocks, importOpenApi } from '@heddle/blocks';
import { expect, it, onTestFinished } from 'vitest';
import { SHOP, startShop } from '../openapi/shop.ts';
import { startModelServer } from '../support/model-server.ts';
import { describeTemporal } from '../support/temporal.ts';
import { block, workflow } from '../support/workflow.ts';
import { clientOf, historyText } from './history.ts';
import { placeOn } from './worker-place.ts';

const KEY = 'key-of-the-shop';

describeTemporal('imported operations on a worker', (server) => {
  it('are called by agents and tool blocks, and keys are in no history, log or answer', async () => {
    const { file } = await importOpenApi(SHOP, { name: 'shop' });
    const shop = await startShop(({ headers, url }) => ({
      body: JSON.stringify({ url, sent: headers.authorization ?? null }),
    }));
    const models = await startModelServer(({ number }) => {
      const args = { operation: 'shop_createOrder', arguments: { body: { article: 'lamp' } } };
      if (number === 1) return { tools: [{ name: 'shop_search', args: { query: 'create order' } }] };
      return number === 2 ? { tools: [{ name: 'shop_call', args }] } : { text: 'Ordered.' };
    });
    onTestFinished(async () => {
      await Promise.all([shop.close(), models.close()]);
    });
    const place = placeOn(server);
    const engine = await place.engine();
    await place.worker({
      blocks: blocks({ toolFiles: [file] }),
      services: { ...models.services, shop: shop.url },
      credentials: { openai: 'key-of-openai', shop: KEY },
    });
    const agent = block('Ask', 'agent', {
      messages: [{ role: 'user', content: 'Order a lamp.' }],
      model: 'gpt-4o',
      tools: [{ type: 'service', toolId: 'shop' }],
    });
    const tool = block('Get', 'tool', {
      toolId: 'shop_getOrder',
      arguments: '{"id": "<ask.toolCalls.list[1].result.url>"}',
    });
    const run = await engine.start({ workflow: workflow([agent, tool], ['Start -> Ask -> Get']) });
    const result = await run.result();
    expect(result).toMatchObject({
      status: 'completed',
      output: { data: { url: '/orders/%2Forders', sent: 'Bearer «redacted:shop»' }, status: 200 },
    });
    expect(shop.received.map(({ method, url }) => `${method} ${url}`)).toEqual([
      'POST /orders',
      'GET /orders/%2Forders',
    ]);
    const texts = [
      JSON.stringify(result),
      JSON.stringify(await engine.getLogs(run.runId)),
      await historyText(await clientOf(server), run.runId),
      JSON.stringify(models.requests.map(({ body }) => body)),
    ];
    for (const text of texts) expect(text).not.toContain(KEY);
    expect(texts[1]).toContain('redacted:shop');
  });
});
