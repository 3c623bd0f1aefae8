import { describe, expect, it, onTestFinished } from 'vitest';
import type { ModelRateLimits } from '@heddle/blocks';
import { hasPostgres, createPostgresDatabase } from '../support/postgres.ts';
import { TestClock } from '../support/test-clock.ts';
import { block, workflow } from '../support/workflow.ts';
import { AGENT_FIELDS, RESPONSE, createMeteredEngine, startModel, runAgent } from './metered-agents.ts';

const AGENT_SOURCE = { workflow: workflow([block('A', 'agent', AGENT_FIELDS)], ['Start -> A']) };
const rateLimitOptions = (rateLimits: ModelRateLimits) => ({
  blocksOptions: { rateLimits: { openai: rateLimits } },
});

describe('the rate limits of a key', () => {
  it('make a call wait until they allow it', async () => {
    const clock = new TestClock(1_000_000);
    const server = await startModel(() => RESPONSE);
    const engine = await createMeteredEngine(server, {
      clock,
      ...rateLimitOptions({ requestsPerMinute: 2 }),
    });
    await runAgent(engine);
    const run = await engine.start(AGENT_SOURCE);
    await clock.waitForTimer(30_000);
    expect(server.requests).toHaveLength(1);
    clock.advance(29_999);
    expect(server.requests).toHaveLength(1);
    clock.advance(1);
    expect(await run.result()).toMatchObject({ status: 'completed' });
  });

  it('count the tokens that calls have used', async () => {
    const clock = new TestClock(1_000_000);
    const server = await startModel(() => ({ ...RESPONSE, inputTokens: 1000, outputTokens: 1000 }));
    const engine = await createMeteredEngine(server, {
      clock,
      ...rateLimitOptions({ tokensPerMinute: 6000 }),
    });
    await runAgent(engine);
    const run = await engine.start(AGENT_SOURCE);
    // At this rate, the 2000 tokens of the first call use up 20 s. Calls may run ahead of the rate by 6 s, but the next
    // call alone, with its 1000 output tokens, needs 10 s. So it waits for all 20 s.
    await clock.waitForTimer(20_000);
    clock.advance(20_000);
    expect(await run.result()).toMatchObject({ status: 'completed' });
  });

  it('fail a call that would wait for more than a minute, but a fallback model can answer', async () => {
    const clock = new TestClock(1_000_000);
    const server = await startModel(() => ({ ...RESPONSE, outputTokens: 100_000 }));
    const engine = await createMeteredEngine(server, {
      clock,
      ...rateLimitOptions({ tokensPerMinute: 1000 }),
    });
    await runAgent(engine, { maxTokens: 10 });
    const { error } = await runAgent(engine, { maxTokens: 10 });
    expect(error).toMatchObject({ code: 'MODEL_FAILED' });
    expect(error?.message).toContain('rate limit of its key');
    expect(await runAgent(engine, { fallbackModels: ['claude-haiku-4-5'] })).toMatchObject({
      output: { model: 'claude-haiku-4-5' },
    });
  });

  it('delay all runs with the key for the Retry-After of a response with status 429', async () => {
    const clock = new TestClock(1_000_000);
    const server = await startModel(({ number }) =>
      number === 1 ? { status: 429, headers: { 'retry-after': '20' } } : RESPONSE,
    );
    const engine = await createMeteredEngine(server, { clock });
    const firstRun = await engine.start(AGENT_SOURCE);
    await clock.waitForTimer(20_000);
    clock.advance(5000);
    const secondRun = await engine.start(AGENT_SOURCE);
    await clock.waitForTimer(15_000);
    expect(server.requests).toHaveLength(1);
    // The key of another provider has its own rate limits.
    expect(await runAgent(engine, { model: 'claude-haiku-4-5' })).toMatchObject({ status: 'completed' });
    clock.advance(15_000);
    for (const run of [firstRun, secondRun])
      expect(await run.result()).toMatchObject({ status: 'completed' });
  });

  it('let other blocks run while a call waits', async () => {
    const clock = new TestClock(1_000_000);
    const server = await startModel(() => RESPONSE);
    const engine = await createMeteredEngine(server, {
      clock,
      concurrency: { engine: 1, run: 1 },
      ...rateLimitOptions({ requestsPerMinute: 2 }),
    });
    await runAgent(engine);
    const waitingRun = await engine.start(AGENT_SOURCE);
    await clock.waitForTimer(30_000);
    expect(await runAgent(engine, { model: 'claude-haiku-4-5' })).toMatchObject({ status: 'completed' });
    clock.advance(30_000);
    expect(await waitingRun.result()).toMatchObject({ status: 'completed' });
  });

  it('are separate for each key of a provider', async () => {
    const clock = new TestClock(1_000_000);
    const server = await startModel(() => RESPONSE);
    const engine = await createMeteredEngine(server, {
      clock,
      credentials: {},
      ...rateLimitOptions({ requestsPerMinute: 1 }),
    });
    for (const apiKey of ['one-key-of-a-block', 'other-key-of-a-block'])
      expect(await runAgent(engine, { apiKey })).toMatchObject({ status: 'completed' });
  });
});

describe('a run is cancelled within a second', () => {
  const limitedOptions = rateLimitOptions({ requestsPerMinute: 2 });

  it.each([
    ['before the response to a call', { sendAfter: new Promise<never>(() => undefined) }, {}],
    ['while a response streams', { text: 'Hel', stalls: true as const }, {}],
    ['in the delay before a retry', { status: 503, headers: { 'retry-after': '50' } }, {}],
    ['while a call waits for the rate limit of its key', RESPONSE, limitedOptions],
  ])('%s', async (_when, answer, options) => {
    const server = await startModel(() => answer);
    const engine = await createMeteredEngine(server, options);
    if (options === limitedOptions) await runAgent(engine);
    const run = await engine.start(AGENT_SOURCE);
    onTestFinished(() => run.cancel());
    await expect.poll(() => server.requests.length).toBe(1);
    await new Promise(setImmediate);
    const startedMs = performance.now();
    await run.cancel();
    expect(await run.result()).toMatchObject({ status: 'cancelled' });
    expect(performance.now() - startedMs).toBeLessThan(1000);
    expect(server.requests).toHaveLength(1);
  });
});

describe.skipIf(!hasPostgres)('two engines on one database', () => {
  it('share the rate limits of a key', async () => {
    const server = await startModel(() => RESPONSE);
    const postgres = { url: await createPostgresDatabase() };
    const clock = new TestClock(1_000_000);
    const options = { postgres, ...rateLimitOptions({ requestsPerMinute: 2 }) };
    const firstEngine = await createMeteredEngine(server, { ...options, clock });
    const secondEngine = await createMeteredEngine(server, { ...options, clock });
    await runAgent(firstEngine);
    const run = await secondEngine.start(AGENT_SOURCE);
    await clock.waitForTimer(30_000);
    expect(server.requests).toHaveLength(1);
    clock.advance(30_000);
    expect(await run.result()).toMatchObject({ status: 'completed' });
  });
});
