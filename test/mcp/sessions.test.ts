import { blocks } from '@heddle/blocks';
import type { JsonObject } from '@heddle/core';
import { createEngine } from '@heddle/engine';
import type { EngineOptions, RunEvent } from '@heddle/engine';
import { describe, expect, it, onTestFinished } from 'vitest';
import { describeOnStores } from '../agents/describe-on-stores.ts';
import { startMcpServer, startSessionServer } from '../support/mcp-official.ts';
import { startModelServer } from '../support/model-server.ts';
import { block, workflow } from '../support/workflow.ts';

const mcpBlock = (name: string, fields: JsonObject = {}) =>
  block(name, 'mcp', { server: 'sky', tool: 'forecast', arguments: { city: name }, ...fields });

async function openEngine(options: EngineOptions = {}) {
  const engine = await createEngine({ blocks: blocks(), ...options });
  onTestFinished(() => engine.close({ graceMs: 0 }));
  return engine;
}

describeOnStores((environment, open) => {
  it(`the blocks and agents of a run share one session with a server until the run ends, ${environment}`, async () => {
    const server = await startSessionServer();
    const modelServer = await startModelServer(({ number }) =>
      number === 1 ? { toolCalls: [{ name: 'forecast', args: { city: 'Narvik' } }] } : { text: 'Rain.' },
    );
    onTestFinished(() => modelServer.close());
    const engine = await open({
      blocks: blocks(),
      services: { ...modelServer.services, 'mcp-sky': server.url },
      credentials: { openai: 'key-of-openai' },
    });
    const agent = block('Ask', 'agent', {
      ...{ model: 'gpt-4o', messages: [{ role: 'user', content: 'Weather?' }] },
      tools: [{ type: 'mcp-server', params: { serverId: 'sky' } }],
    });
    const weatherWorkflow = workflow(
      [mcpBlock('Bergen'), mcpBlock('Hamar'), agent, mcpBlock('Oslo')],
      ['Start -> Bergen -> Ask -> Oslo', 'Start -> Hamar'],
    );
    expect(await engine.execute({ workflow: weatherWorkflow })).toMatchObject({ status: 'completed' });
    expect(server.calls.toSorted()).toEqual(['Bergen', 'Hamar', 'Narvik', 'Oslo']);
    expect(server.sessionAuthorizations).toHaveLength(1);
    await expect.poll(() => server.endedSessionIds).toEqual([...server.transports.keys()]);
  });
});

describe('the session of a run', () => {
  it('is not shared with another run', async () => {
    const server = await startSessionServer();
    const engine = await openEngine({ services: { 'mcp-sky': server.url } });
    for (const _ of [1, 2]) await engine.execute({ workflow: workflow([mcpBlock('A')], ['Start -> A']) });
    expect(server.sessionAuthorizations).toHaveLength(2);
    await expect.poll(() => server.endedSessionIds).toHaveLength(2);
  });

  it('ends when a block fails, and when the engine closes', async () => {
    const server = await startSessionServer();
    const engine = await openEngine({ services: { 'mcp-sky': server.url } });
    const failingWorkflow = workflow([mcpBlock('A', { tool: 'broken' })], ['Start -> A']);
    expect(await engine.execute({ workflow: failingWorkflow })).toMatchObject({ status: 'failed' });
    await expect.poll(() => server.endedSessionIds).toHaveLength(1);
    await engine.start({ workflow: workflow([mcpBlock('A', { tool: 'slow' })], ['Start -> A']) });
    await expect.poll(() => server.calls, { timeout: 10_000 }).toEqual(['slow']);
    await engine.close({ graceMs: 0 });
    expect(server.endedSessionIds).toHaveLength(2);
  });

  it('ends when the run is cancelled', async () => {
    const server = await startSessionServer();
    const engine = await openEngine({ services: { 'mcp-sky': server.url } });
    const run = await engine.start({ workflow: workflow([mcpBlock('A', { tool: 'slow' })], ['Start -> A']) });
    await expect.poll(() => server.calls, { timeout: 10_000 }).toEqual(['slow']);
    await run.cancel();
    await expect.poll(() => server.endedSessionIds).toHaveLength(1);
  });

  it('ends while the run waits for a person, and a new session begins after the answer', async () => {
    const server = await startSessionServer();
    const engine = await openEngine({ services: { 'mcp-sky': server.url } });
    const pausingWorkflow = workflow(
      [mcpBlock('Before'), block('Ask', 'human_in_the_loop', {}), mcpBlock('After')],
      ['Start -> Before -> Ask -> After'],
    );
    const run = await engine.start({ workflow: pausingWorkflow });
    expect(await run.result()).toMatchObject({ status: 'paused' });
    await expect.poll(() => server.endedSessionIds).toHaveLength(1);
    const [pause] = (await engine.getRun(run.runId))?.pauses ?? [];
    const resumedRun = await engine.resume(run.runId, { token: pause?.token ?? '', input: {} });
    expect(resumedRun).toMatchObject({ status: 'completed' });
    expect(server.sessionAuthorizations).toHaveLength(2);
    await expect.poll(() => server.endedSessionIds).toHaveLength(2);
  });

  it('is restarted once for all concurrent requests when the server has lost it', async () => {
    const server = await startSessionServer();
    const forgetExecutor = {
      types: ['forget'],
      class: 'compute' as const,
      execute: () => {
        server.transports.clear();
        return { output: {} };
      },
    };
    const engine = await openEngine({
      blocks: [...blocks(), forgetExecutor],
      services: { 'mcp-sky': server.url },
    });
    const forgettingWorkflow = workflow(
      [
        mcpBlock('A'),
        block('Forget', 'forget', {}),
        mcpBlock('B'),
        mcpBlock('C'),
        block('Again', 'forget', {}),
        mcpBlock('D'),
      ],
      ['Start -> A -> Forget', 'Forget -> B -> Again -> D', 'Forget -> C -> Again'],
    );
    expect(await engine.execute({ workflow: forgettingWorkflow })).toMatchObject({
      error: null,
      status: 'completed',
    });
    expect(server.calls.toSorted()).toEqual(['A', 'B', 'C', 'D']);
    expect(server.sessionAuthorizations).toHaveLength(3);
  });

  it('fails the block if the server also loses the new session', async () => {
    const server = await startSessionServer({ forgetSessionsAt: 'tools/call' });
    const engine = await openEngine({ services: { 'mcp-sky': server.url } });
    expect(await engine.execute({ workflow: workflow([mcpBlock('A')], ['Start -> A']) })).toMatchObject({
      status: 'failed',
      error: { code: 'MCP_FAILED' },
    });
    expect(server.sessionAuthorizations).toHaveLength(2);
  });

  it('continues with a refreshed access token', async () => {
    const server = await startSessionServer();
    let readCount = 0;
    const find = () => ({
      ...{ id: 'c1', name: 'Ours', provider: 'mcp-sky', type: 'oauth' as const },
      secret: `token-number-${++readCount}`,
    });
    const engine = await openEngine({ services: { 'mcp-sky': server.url }, tenantCredentials: { find } });
    const twoCallWorkflow = workflow([mcpBlock('A'), mcpBlock('B')], ['Start -> A -> B']);
    expect(await engine.execute({ workflow: twoCallWorkflow })).toMatchObject({ status: 'completed' });
    expect(server.sessionAuthorizations).toEqual(['Bearer token-number-1']);
    const callRequests = server.requests.filter(({ body }) => body.includes('"tools/call"'));
    expect(callRequests.map(({ headers }) => headers.authorization)).toEqual([
      'Bearer token-number-1',
      'Bearer token-number-2',
    ]);
  });
});

describe.each([
  ['2026-07-28', startMcpServer],
  ['2025-11-25', startSessionServer],
])('the tool list of a server of protocol revision %s', (_title, serve) => {
  it('is requested once per minute for each key, and again after a change notification', async () => {
    const server = await serve();
    const countListCalls = () => server.requests.filter(({ body }) => body.includes('"tools/list"')).length;
    const services = { 'mcp-sky': server.url };
    const notifyExecutor = {
      types: ['notify'],
      class: 'effect' as const,
      execute: async () => {
        // Waits until the client listens for change notifications.
        const isListening = ({ body, method }: { body: string; method: string }) =>
          method === 'GET' || body.includes('subscriptions/listen');
        await expect.poll(() => server.requests.some(isListening)).toBe(true);
        await new Promise((resolve) => setImmediate(resolve));
        server.notifyToolsChanged();
        return { output: {} };
      },
    };
    const engine = await openEngine({ services, blocks: [...blocks(), notifyExecutor] });
    const twoCallWorkflow = workflow([mcpBlock('A'), mcpBlock('B')], ['Start -> A -> B']);
    expect(await engine.execute({ workflow: twoCallWorkflow })).toMatchObject({ error: null });
    expect(await engine.execute({ workflow: twoCallWorkflow })).toMatchObject({ error: null });
    expect(countListCalls()).toBe(1);
    const otherEngine = await openEngine({ services, credentials: { 'mcp-sky': 'another-key' } });
    expect(await otherEngine.execute({ workflow: twoCallWorkflow })).toMatchObject({ error: null });
    expect(countListCalls()).toBe(2);
    const notifyingWorkflow = workflow(
      [mcpBlock('A'), block('Notify', 'notify', {}), mcpBlock('B')],
      ['Start -> A -> Notify -> B'],
    );
    await expect
      .poll(async () => {
        await engine.execute({ workflow: notifyingWorkflow });
        return countListCalls();
      })
      .toBeGreaterThan(2);
  });
});

describe('the progress of a call', () => {
  it.each(['protocol revision 2026-07-28', 'sessions'])(
    'is emitted while the call runs, at most ten times per second (%s)',
    async (kind) => {
      const server = kind === 'sessions' ? await startSessionServer() : await startMcpServer();
      const engine = await openEngine({ services: { 'mcp-sky': server.url } });
      const run = await engine.start({
        workflow: workflow([mcpBlock('A', { tool: 'steps' })], ['Start -> A']),
      });
      const emittedEvents: RunEvent[] = [];
      for await (const event of run.events()) if (event.type === 'block:emission') emittedEvents.push(event);
      expect(await run.result()).toMatchObject({ status: 'completed' });
      expect(emittedEvents[0]).toMatchObject({
        blockName: 'A',
        emission: { type: 'progress', id: 'call', progress: 1, total: 50 },
      });
      // Messages are cut to 500 characters, of which 'Step 1 ' takes 7.
      expect(
        JSON.stringify(emittedEvents[0])
          .match(/x+/g)
          ?.map(({ length }) => length),
      ).toContain(493);
      expect(emittedEvents.length).toBeLessThan(50);
    },
  );
});
