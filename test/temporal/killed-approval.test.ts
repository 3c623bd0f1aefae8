import { existsSync } from 'node:fs';
import { expect, it } from 'vitest';
import { PAYMENT_WORKFLOW, startPayingModel, startProcess } from '../agents/killable-process.ts';
import { describeTemporal } from '../support/temporal.ts';
import { createCluster } from './cluster.ts';

describeTemporal('an agent whose worker is killed after a person approved its call', (server) => {
  it('makes the call once, on another worker', async () => {
    const { commonOptions, expectOnePayment } = await startPayingModel();
    const cluster = createCluster(server);
    const { address, namespace } = server;
    const worker = { address, namespace, taskQueue: cluster.queue, data: cluster.data };
    // This engine has no agents, so it records the answer unchecked, and the worker checks it.
    const engine = await cluster.openEngine();
    const run = await engine.start({ workflow: PAYMENT_WORKFLOW });
    const killedProcess = startProcess({ worker, ...commonOptions, stopPoint: 'answered' }, 'paying');
    expect(await run.result()).toMatchObject({ status: 'paused' });
    const resumption = engine.resume(run.runId, { input: { decision: 'approve' } });
    expect(await killedProcess.lastLine).toBe('answered');
    expect(existsSync(commonOptions.effectsFile)).toBe(false);
    const otherProcess = startProcess({ worker, ...commonOptions }, 'paying');
    const { output } = await resumption;
    expectOnePayment(output, true);
    otherProcess.closeStdin();
    await otherProcess.lastLine;
  });
});
