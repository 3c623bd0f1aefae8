import { blocks, importOpenApi } from '@heddle/blocks';
import { expect, it, onTestFinished } from 'vitest';
import { SHOP, startShop } from '../openapi/shop.ts';
import { startSessionServer } from '../support/mcp-official.ts';
import { startModelServer } from '../support/model-server.ts';
import { describeTemporal } from '../support/temporal.ts';
import { block, workflow } from '../support/workflow.ts';
import { clientOf, historyText } from './history.ts';
import { createCluster } from './cluster.ts';

const KEY = 'key-of-the-shop';

describeTemporal('tools', (server) => {
  it('from OpenAPI documents are called by agents and tool blocks on a worker, without keys in results, logs or histories', async () => {
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
    const cluster = createCluster(server);
    const engine = await cluster.engine();
    await cluster.worker({
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
    expect(shop.requests.map(({ method, url }) => `${method} ${url}`)).toEqual([
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

  it('from MCP servers are called by a worker in sessions that end with their activities, and the calls can be cancelled', async () => {
    const sky = await startSessionServer();
    const models = await startModelServer(({ number }) =>
      number === 1 ? { tools: [{ name: 'forecast', args: { city: 'Narvik' } }] } : { text: 'Rain.' },
    );
    onTestFinished(() => models.close());
    const cluster = createCluster(server);
    const engine = await cluster.engine();
    await cluster.worker({
      blocks: blocks(),
      services: { ...models.services, 'mcp-sky': sky.url },
      credentials: { openai: 'key-of-openai', 'mcp-sky': KEY },
    });
    const agent = block('Ask', 'agent', {
      messages: [{ role: 'user', content: 'Weather?' }],
      model: 'gpt-4o',
      tools: [{ type: 'mcp-server', params: { serverId: 'sky' } }],
    });
    const call = (name: string, tool: string) =>
      block(name, 'mcp', { server: 'sky', tool, arguments: { city: name } });
    const graph = workflow([agent, call('Oslo', 'forecast')], ['Start -> Ask -> Oslo']);
    const run = await engine.start({ workflow: graph });
    expect(await run.result()).toMatchObject({
      status: 'completed',
      output: { content: [{ type: 'text', text: 'Rain in Oslo' }] },
    });
    expect(sky.calls).toEqual(['Narvik', 'Oslo']);
    expect(new Set(sky.initialized)).toEqual(new Set([`Bearer ${KEY}`]));
    await expect.poll(() => sky.ended.length).toBe(sky.initialized.length);
    expect(await historyText(await clientOf(server), run.runId)).not.toContain(KEY);
    const slow = await engine.start({ workflow: workflow([call('Slow', 'slow')], ['Start -> Slow']) });
    await expect.poll(() => sky.calls, { timeout: 10_000 }).toContain('slow');
    await slow.cancel();
    expect(await slow.result()).toMatchObject({ status: 'cancelled' });
    await expect.poll(() => sky.calls, { timeout: 10_000 }).toContain('cancelled');
    await expect.poll(() => sky.ended.length).toBe(sky.initialized.length);
  });
});
