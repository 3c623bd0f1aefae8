import { blocks, importOpenApi } from '@heddle/blocks';
import { expect, it, onTestFinished } from 'vitest';
import { SHOP, startShop } from '../openapi/shop.ts';
import { startSessionServer } from '../support/mcp-official.ts';
import { startModelServer } from '../support/model-server.ts';
import { describeTemporal } from '../support/temporal.ts';
import { block, workflow } from '../support/workflow.ts';
import { openClient, fetchHistoryText } from './history.ts';
import { createCluster } from './cluster.ts';

const KEY = 'key-of-the-shop';

describeTemporal('tools', (server) => {
  it('from OpenAPI documents are called by agents and tool blocks on a worker, without keys in results, logs or histories', async () => {
    const { file } = await importOpenApi(SHOP, { name: 'shop' });
    const shop = await startShop(({ headers, url }) => ({
      body: JSON.stringify({ url, sent: headers.authorization ?? null }),
    }));
    const modelServer = await startModelServer(({ number }) => {
      const args = { operation: 'shop_createOrder', arguments: { body: { article: 'lamp' } } };
      if (number === 1) return { toolCalls: [{ name: 'shop_search', args: { query: 'create order' } }] };
      return number === 2 ? { toolCalls: [{ name: 'shop_call', args }] } : { text: 'Ordered.' };
    });
    onTestFinished(async () => {
      await Promise.all([shop.close(), modelServer.close()]);
    });
    const cluster = createCluster(server);
    const engine = await cluster.openEngine();
    await cluster.startWorker({
      blocks: blocks({ toolFiles: [file] }),
      services: { ...modelServer.services, shop: shop.url },
      credentials: { openai: 'key-of-openai', shop: KEY },
    });
    const agentBlock = block('Ask', 'agent', {
      messages: [{ role: 'user', content: 'Order a lamp.' }],
      model: 'gpt-4o',
      tools: [{ type: 'service', toolId: 'shop' }],
    });
    const toolBlock = block('Get', 'tool', {
      toolId: 'shop_getOrder',
      arguments: '{"id": "<ask.toolCalls.list[1].result.url>"}',
    });
    const run = await engine.start({ workflow: workflow([agentBlock, toolBlock], ['Start -> Ask -> Get']) });
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
      await fetchHistoryText(await openClient(server), run.runId),
      JSON.stringify(modelServer.requests.map(({ body }) => body)),
    ];
    for (const text of texts) expect(text).not.toContain(KEY);
    expect(texts[1]).toContain('redacted:shop');
  });

  it('from MCP servers are called by a worker in sessions that end with their activities, and the calls can be cancelled', async () => {
    const mcpServer = await startSessionServer();
    const modelServer = await startModelServer(({ number }) =>
      number === 1 ? { toolCalls: [{ name: 'forecast', args: { city: 'Narvik' } }] } : { text: 'Rain.' },
    );
    onTestFinished(() => modelServer.close());
    const cluster = createCluster(server);
    const engine = await cluster.openEngine();
    await cluster.startWorker({
      blocks: blocks(),
      services: { ...modelServer.services, 'mcp-sky': mcpServer.url },
      credentials: { openai: 'key-of-openai', 'mcp-sky': KEY },
    });
    const agentBlock = block('Ask', 'agent', {
      messages: [{ role: 'user', content: 'Weather?' }],
      model: 'gpt-4o',
      tools: [{ type: 'mcp-server', params: { serverId: 'sky' } }],
    });
    const mcpBlock = (name: string, tool: string) =>
      block(name, 'mcp', { server: 'sky', tool, arguments: { city: name } });
    const definition = workflow([agentBlock, mcpBlock('Oslo', 'forecast')], ['Start -> Ask -> Oslo']);
    const run = await engine.start({ workflow: definition });
    expect(await run.result()).toMatchObject({
      status: 'completed',
      output: { content: [{ type: 'text', text: 'Rain in Oslo' }] },
    });
    expect(mcpServer.calls).toEqual(['Narvik', 'Oslo']);
    expect(new Set(mcpServer.sessionAuthorizations)).toEqual(new Set([`Bearer ${KEY}`]));
    await expect.poll(() => mcpServer.endedSessionIds.length).toBe(mcpServer.sessionAuthorizations.length);
    expect(await fetchHistoryText(await openClient(server), run.runId)).not.toContain(KEY);
    const slowRun = await engine.start({ workflow: workflow([mcpBlock('Slow', 'slow')], ['Start -> Slow']) });
    await expect.poll(() => mcpServer.calls, { timeout: 10_000 }).toContain('slow');
    await slowRun.cancel();
    expect(await slowRun.result()).toMatchObject({ status: 'cancelled' });
    await expect.poll(() => mcpServer.calls, { timeout: 10_000 }).toContain('cancelled');
    await expect.poll(() => mcpServer.endedSessionIds.length).toBe(mcpServer.sessionAuthorizations.length);
  });
});
