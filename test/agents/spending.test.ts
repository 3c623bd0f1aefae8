import type { JsonObject } from '@heddle/core';
import { describe, expect, it } from 'vitest';
import { hasPostgres, createPostgresDatabase } from '../support/postgres.ts';
import { TestClock } from '../support/test-clock.ts';
import { block, workflow } from '../support/workflow.ts';
import {
  AGENT_FIELDS,
  RESPONSE,
  RESPONSE_COST_MICROS,
  createMeteredEngine,
  startModel,
  runAgent,
} from './metered-agents.ts';

const expectedRefusal = (cap: string, details: JsonObject = {}) => ({
  status: 'failed',
  error: { code: 'SPENDING_CAP_REACHED', details: { cap, ...details } },
});

describe('a cap on spending', () => {
  it('for one call refuses a call that could exceed it, and names the cap and the maximum cost', async () => {
    const server = await startModel(() => RESPONSE);
    const engine = await createMeteredEngine(server, { maxCost: { call: 0.01 } });
    const { error } = await runAgent(engine);
    expect(error?.code).toBe('SPENDING_CAP_REACHED');
    expect(error?.message).toMatch(
      /"A" can cost up to \$0\.010\d+, which would exceed the cap of \$0\.01 per call/,
    );
    expect(server.requests).toHaveLength(0);
    expect(await runAgent(engine, { maxTokens: 900 })).toMatchObject({ status: 'completed' });
  });

  it('assumes the maximum length of an answer for a call without maxTokens', async () => {
    const server = await startModel(() => RESPONSE);
    const engine = await createMeteredEngine(server, { maxCost: { call: 0.16 } });
    expect(await runAgent(engine, { maxTokens: '' })).toMatchObject(expectedRefusal('call'));
    expect(server.requests).toHaveLength(0);
  });

  it('for a run counts the cost of its earlier calls and of its child runs', async () => {
    const server = await startModel(() => RESPONSE);
    const engine = await createMeteredEngine(server, { maxCost: { run: 0.012 } });
    await engine.deploy(workflow([block('B', 'agent', AGENT_FIELDS)], ['Start -> B'], { id: 'child' }));
    const createCallBlock = (name: string) => block(name, 'workflow', { workflowId: 'child' });
    const run = await engine.execute({
      workflow: workflow(
        [block('A', 'agent', AGENT_FIELDS), createCallBlock('C'), createCallBlock('D')],
        ['Start -> A', 'A -> C', 'C -> D'],
      ),
    });
    // The third call could exceed the cap of 12000 millionths: the first two cost 2050, and the third can cost 10000.
    expect(run).toMatchObject({ status: 'failed' });
    expect(run.error?.message).toContain('cap of $0.012 per run. ');
    expect(run.error?.message).toContain('$0.00205 of it is spent');
    expect(server.requests).toHaveLength(2);
    expect(await runAgent(engine)).toMatchObject({ status: 'completed' });
  });

  it('for a conversation counts all runs that continue it', async () => {
    const server = await startModel(() => RESPONSE);
    const engine = await createMeteredEngine(server, { maxCost: { conversation: { dollars: 0.012 } } });
    const conversationFields = { memoryType: 'conversation', conversationId: 'one' };
    expect(await runAgent(engine, conversationFields)).toMatchObject({ status: 'completed' });
    expect(await runAgent(engine, conversationFields)).toMatchObject({ status: 'completed' });
    expect(await runAgent(engine, conversationFields)).toMatchObject(
      expectedRefusal('conversation', { usedMicros: 2 * RESPONSE_COST_MICROS }),
    );
    expect(await runAgent(engine, { ...conversationFields, conversationId: 'other' })).toMatchObject({
      status: 'completed',
    });
    expect(await runAgent(engine)).toMatchObject({ status: 'completed' });
  });

  it('for a workspace counts only its own runs, until the window ends', async () => {
    const clock = new TestClock(Date.UTC(2026, 0, 31, 23));
    const server = await startModel(() => RESPONSE);
    const engine = await createMeteredEngine(server, {
      clock,
      maxCost: { tenant: { dollars: 0.011, per: 'month' } },
      tenant: (id) => (id.startsWith('b') ? 'b' : 'a'),
    });
    expect(await runAgent(engine, {}, 'a1')).toMatchObject({ status: 'completed' });
    expect(await runAgent(engine, {}, 'a2')).toMatchObject(
      expectedRefusal('workspace', {
        usedMicros: RESPONSE_COST_MICROS,
        windowEndsAt: '2026-02-01T00:00:00.000Z',
      }),
    );
    expect(await runAgent(engine, {}, 'b1')).toMatchObject({ status: 'completed' });
    clock.advance(3_600_000);
    expect(await runAgent(engine, {}, 'a3')).toMatchObject({ status: 'completed' });
  });

  it('for a block is set by its author, and covers all its calls', async () => {
    const server = await startModel(() => ({
      toolCalls: [{ name: 'unknown', args: {} }],
      inputTokens: 10,
      outputTokens: 100,
    }));
    const engine = await createMeteredEngine(server, {});
    expect(await runAgent(engine, { maxCost: '0.0125' })).toMatchObject(
      expectedRefusal('block', { usedMicros: 2 * RESPONSE_COST_MICROS }),
    );
    expect(server.requests).toHaveLength(2);
  });

  it('refuses a model without a price, unless the operator sets one', async () => {
    const server = await startModel(() => RESPONSE);
    const maxCost = { call: 1 };
    const engineWithoutPrice = await createMeteredEngine(server, { maxCost });
    const { error } = await runAgent(engineWithoutPrice, { model: 'local/scripted' });
    expect(error).toMatchObject({ code: 'SPENDING_PRICE_UNKNOWN' });
    expect(error?.message).toContain('local/scripted');
    expect(server.requests).toHaveLength(0);
    const prices = { 'local/*': { input: 1, output: 2 } };
    const engineWithPrice = await createMeteredEngine(server, { maxCost, blocksOptions: { prices } });
    expect(await runAgent(engineWithPrice, { model: 'local/scripted' })).toMatchObject({
      status: 'completed',
      output: { cost: { totalMicros: 210, total: 0.00021 } },
    });
  });

  it('counts no cost for failed requests, but the cost of an interrupted answer', async () => {
    const server = await startModel(({ number }) =>
      number <= 3
        ? { status: 503, headers: { 'retry-after': '0' } }
        : number === 4
          ? { text: 'x'.repeat(400), disconnects: true }
          : RESPONSE,
    );
    const engine = await createMeteredEngine(server, { maxCost: { tenant: { dollars: 0.0115 } } });
    const firstResult = await runAgent(engine, {}, 'one');
    expect(firstResult).toMatchObject({ status: 'failed', error: { code: 'MODEL_FAILED' } });
    expect(server.requests).toHaveLength(4);
    const secondResult = await runAgent(engine, {}, 'two');
    // About 200 output tokens at 10 millionths of a dollar each, and the input.
    expect(secondResult).toMatchObject(expectedRefusal('workspace'));
    const { usedMicros } = (secondResult.error as unknown as { details: { usedMicros: number } }).details;
    expect(usedMicros).toBeGreaterThan(2000);
    expect(usedMicros).toBeLessThan(2500);
  });

  it('is not exceeded by many concurrent calls', async () => {
    const server = await startModel(() => ({ ...RESPONSE, outputTokens: 1000 }));
    const engine = await createMeteredEngine(server, { maxCost: { tenant: { dollars: 0.05 } } });
    const runs = await Promise.all(Array.from({ length: 12 }, () => runAgent(engine)));
    const completedCount = runs.filter(({ status }) => status === 'completed').length;
    expect(completedCount).toBe(4);
    expect(server.requests).toHaveLength(4);
    expect(runs.filter(({ error }) => error?.code === 'SPENDING_CAP_REACHED')).toHaveLength(8);
  });
});

describe.skipIf(!hasPostgres)('two engines on one database', () => {
  it('share a cap', async () => {
    const server = await startModel(() => ({ ...RESPONSE, outputTokens: 1000 }));
    const options = {
      postgres: { url: await createPostgresDatabase() },
      maxCost: { tenant: { dollars: 0.05 } },
    };
    const engines = [
      await createMeteredEngine(server, options),
      await createMeteredEngine(server, options),
    ] as const;
    const runs = await Promise.all(
      Array.from({ length: 12 }, (_, index) => runAgent(engines[index % 2 === 0 ? 0 : 1])),
    );
    expect(runs.filter(({ status }) => status === 'completed')).toHaveLength(4);
    expect(server.requests).toHaveLength(4);
  });
});
