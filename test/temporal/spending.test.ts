import { blocks } from '@heddle/blocks';
import type { BlocksOptions } from '@heddle/blocks';
import type { EngineOptions } from '@heddle/engine';
import { expect, it } from 'vitest';
import { AGENT, ANSWER, modelServer } from '../agents/metered.ts';
import { describeTemporal } from '../support/temporal.ts';
import type { ModelServer } from '../support/model-server.ts';
import { block, workflow } from '../support/workflow.ts';
import { placeOn } from './worker-place.ts';

const AGENT_FLOW = { workflow: workflow([block('A', 'agent', AGENT)], ['Start -> A']) };

function optionsFor(
  server: ModelServer,
  { maxCost, ...models }: BlocksOptions & Pick<EngineOptions, 'maxCost'>,
) {
  return {
    blocks: blocks(models),
    services: server.services,
    credentials: { openai: 'key-of-openai' },
    ...(maxCost && { maxCost }),
  };
}

describeTemporal('agents on Temporal workers that share a data folder', (address) => {
  it('share a cap on spending', async () => {
    const server = await modelServer(() => ({ ...ANSWER, output: 1000 }));
    const place = placeOn(address);
    const options = optionsFor(server, { maxCost: { tenant: { dollars: 0.025 } } });
    await place.worker(options);
    await place.worker(options);
    const engine = await place.engine();
    const runs = await Promise.all(Array.from({ length: 6 }, () => engine.execute(AGENT_FLOW)));
    expect(runs.filter(({ status }) => status === 'completed')).toHaveLength(2);
    expect(runs.filter(({ error }) => error?.code === 'SPENDING_CAP_REACHED')).toHaveLength(4);
    expect(server.requests).toHaveLength(2);
  });

  it.each([
    ['while a call streams', { text: 'Hel', stalls: true as const }, {}],
    ['in the pause before a call is repeated', { status: 503, headers: { 'retry-after': '50' } }, {}],
    ['while it waits for the rate of its key', ANSWER, { openai: { requestsPerMinute: 2 } }],
  ])('stop within a second when their run is cancelled %s', async (_when, answer, rates) => {
    const server = await modelServer(() => answer);
    const place = placeOn(address);
    const worker = await place.worker(optionsFor(server, { rates }));
    const engine = await place.engine();
    if (answer === ANSWER) await engine.execute(AGENT_FLOW);
    const run = await engine.start(AGENT_FLOW);
    await expect.poll(() => server.requests.length).toBe(1);
    const isStarted = async () =>
      (await engine.getLogs(run.runId)).some(
        ({ blockName, endedMs }) => blockName === 'A' && endedMs === undefined,
      );
    await expect.poll(isStarted).toBe(true);
    const startedMs = performance.now();
    await run.cancel();
    expect(await run.result()).toMatchObject({ status: 'cancelled' });
    expect(performance.now() - startedMs).toBeLessThan(1000);
    expect(server.requests).toHaveLength(1);
    await worker.stop({ drainMs: 500, killMs: 2000 });
  });
});
