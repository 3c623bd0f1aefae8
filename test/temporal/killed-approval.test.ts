import { existsSync } from 'node:fs';
import { expect, it } from 'vitest';
import { PAYMENT_WORKFLOW, startPayingModel, startProcess } from '../agents/killable-process.ts';
import { describeTemporal } from '../support/temporal.ts';
import { createCluster } from './cluster.ts';

describeTemporal('an agent whose worker is killed after a person approved its call', (server) => {
  it('makes the call once, on another worker', async () => {
    const { common, expectOnePayment } = await startPayingModel();
    const cluster = createCluster(server);
    const { address, namespace } = server;
    const worker = { address, namespace, taskQueue: cluster.queue, data: cluster.data };
    // This engine has no agents, so it records the answer unchecked, and the worker checks it.
    const engine = await cluster.engine();
    const run = await engine.start({ workflow: PAYMENT_WORKFLOW });
    const killed = startProcess({ worker, ...common, stop: 'answered' }, 'paying');
    expect(await run.result()).toMatchObject({ status: 'paused' });
    const resumed = engine.resume(run.runId, { input: { decision: 'approve' } });
    expect(await killed.lastLine).toBe('answered');
    expect(existsSync(common.effectsFile)).toBe(false);
    const other = startProcess({ worker, ...common }, 'paying');
    const { output } = await resumed;
    expectOnePayment(output, true);
    other.end();
    await other.lastLine;
  });
});
