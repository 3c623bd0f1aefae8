import { blocks } from '@heddle/blocks';
import type { BlocksOptions } from '@heddle/blocks';
import type { EngineOptions } from '@heddle/engine';
import { expect, it } from 'vitest';
import { AGENT_FIELDS, RESPONSE, startModel } from '../agents/metered-agents.ts';
import { describeTemporal } from '../support/temporal.ts';
import type { ModelServer } from '../support/model-server.ts';
import { block, workflow } from '../support/workflow.ts';
import { createCluster } from './cluster.ts';

const AGENT_SOURCE = { workflow: workflow([block('A', 'agent', AGENT_FIELDS)], ['Start -> A']) };

function optionsFor(
  modelServer: ModelServer,
  { maxCost, ...blocksOptions }: BlocksOptions & Pick<EngineOptions, 'maxCost'>,
) {
  return {
    blocks: blocks(blocksOptions),
    services: modelServer.services,
    credentials: { openai: 'key-of-openai' },
    ...(maxCost && { maxCost }),
  };
}

describeTemporal('agents on Temporal workers that share a data folder', (temporalServer) => {
  it('share one spending limit', async () => {
    const modelServer = await startModel(() => ({ ...RESPONSE, outputTokens: 1000 }));
    const cluster = createCluster(temporalServer);
    const options = optionsFor(modelServer, { maxCost: { tenant: { dollars: 0.025 } } });
    await cluster.startWorker(options);
    await cluster.startWorker(options);
    const engine = await cluster.openEngine();
    const runs = await Promise.all(Array.from({ length: 6 }, () => engine.execute(AGENT_SOURCE)));
    expect(runs.filter(({ status }) => status === 'completed')).toHaveLength(2);
    expect(runs.filter(({ error }) => error?.code === 'SPENDING_CAP_REACHED')).toHaveLength(4);
    expect(modelServer.requests).toHaveLength(2);
  });

  it.each([
    ['while a call streams', { text: 'Hel', stalls: true as const }, {}],
    ['in the delay before a call is retried', { status: 503, headers: { 'retry-after': '50' } }, {}],
    ['while it waits for the rate limit of its key', RESPONSE, { openai: { requestsPerMinute: 2 } }],
  ])('stop within a second when their run is cancelled %s', async (_when, response, rateLimits) => {
    const modelServer = await startModel(() => response);
    const cluster = createCluster(temporalServer);
    const worker = await cluster.startWorker(optionsFor(modelServer, { rateLimits }));
    const engine = await cluster.openEngine();
    if (response === RESPONSE) await engine.execute(AGENT_SOURCE);
    const run = await engine.start(AGENT_SOURCE);
    await expect.poll(() => modelServer.requests.length).toBe(1);
    const isStarted = async () =>
      (await engine.getLogs(run.runId)).some(
        ({ blockName, endedMs }) => blockName === 'A' && endedMs === undefined,
      );
    await expect.poll(isStarted).toBe(true);
    const startedMs = performance.now();
    await run.cancel();
    expect(await run.result()).toMatchObject({ status: 'cancelled' });
    expect(performance.now() - startedMs).toBeLessThan(1000);
    expect(modelServer.requests).toHaveLength(1);
    await worker.stop({ drainMs: 500, killMs: 2000 });
  });

  it('read the skills of their workspace from the worker, and get the same skills at the next attempt', async () => {
    const refundSkill = {
      id: '1f0c',
      name: 'refund-orders',
      description: 'How to refund an order.',
      content: 'Ask for the number of the order first.',
    };
    const lookups: [tenant: string | undefined, references: readonly string[]][] = [];
    const reads: [tenant: string | undefined, id: string][] = [];
    let currentSkill = refundSkill;
    const tenantSkills: NonNullable<EngineOptions['tenantSkills']> = {
      find: (tenant, references) => {
        lookups.push([tenant, references]);
        return tenant === 'mine' ? [currentSkill] : [];
      },
      read: (tenant, id) => {
        reads.push([tenant, id]);
        return tenant === 'mine' && id === currentSkill.id ? currentSkill : undefined;
      },
    };
    const unavailableResponse = { status: 503, headers: { 'retry-after': '0' } };
    const modelServer = await startModel(({ number }) => {
      if (number === 1) return { toolCalls: [{ name: 'load_skill', args: { name: refundSkill.name } }] };
      currentSkill = { ...refundSkill, description: 'Changed.', content: 'Changed.' };
      return number < 6 ? unavailableResponse : RESPONSE;
    });
    const cluster = createCluster(temporalServer);
    const engine = await cluster.openEngine();
    const options = { ...optionsFor(modelServer, {}), tenantSkills };
    await cluster.startWorker({ ...options, resolveChild: async () => undefined, tenant: () => 'mine' });
    const retry = { enabled: true, maxTries: 2, waitBetweenTriesMs: 0 };
    const agent = block('A', 'agent', { ...AGENT_FIELDS, skills: [{ skillId: refundSkill.id }] }, { retry });
    const result = await engine.execute({ workflow: workflow([agent], ['Start -> A']) });
    const toolCalls = [{ name: 'load_skill', result: refundSkill.content, success: true }];
    expect(result).toMatchObject({
      status: 'completed',
      output: { toolCalls: { count: 1, list: toolCalls } },
    });
    expect(modelServer.requests).toHaveLength(6);
    expect(modelServer.requests[5]?.body).toEqual(modelServer.requests[1]?.body);
    const firstRequest = JSON.stringify(modelServer.requests[0]?.body);
    expect(firstRequest).toContain('- refund-orders: How to refund an order.');
    expect(firstRequest).not.toContain(refundSkill.content);
    expect([lookups, reads]).toEqual([[['mine', [refundSkill.id]]], [['mine', refundSkill.id]]]);
  });
});
