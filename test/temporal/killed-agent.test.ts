import { expect, it } from 'vitest';
import {
  COUNTER_WORKFLOW,
  COUNTING_WORKFLOW,
  COUNTING_BY_WORKFLOW,
  startCountingModel,
  startProcess,
} from '../agents/killable-process.ts';
import { describeTemporal } from '../support/temporal.ts';
import { createCluster } from './cluster.ts';

describeTemporal('a workflow called as a tool by an agent whose worker is killed', (server) => {
  it('continues on another worker, and is not started again', async () => {
    const { commonOptions, countModelCalls, expectOneRepeatedCall } = await startCountingModel();
    const cluster = createCluster(server);
    const { address, namespace } = server;
    const worker = { address, namespace, taskQueue: cluster.queue, data: cluster.data };
    const engine = await cluster.openEngine();
    await engine.deploy(COUNTER_WORKFLOW);
    const run = await engine.start({ workflow: COUNTING_BY_WORKFLOW });
    expect(await startProcess({ worker, ...commonOptions, stopPoint: '4' }).lastLine).toBe('4');
    expect(countModelCalls()).toBe(4);
    const otherProcess = startProcess({ worker, ...commonOptions });
    const { output } = await run.result();
    expectOneRepeatedCall(output);
    expect(await engine.childRuns(run.runId)).toHaveLength(4);
    otherProcess.closeStdin();
    expect(await otherProcess.lastLine).toBe('4');
  });
});

describeTemporal('an agent whose worker is killed during the fourth tool call', (server) => {
  it('repeats only the interrupted call, on another worker', async () => {
    const { commonOptions, countModelCalls, expectOneRepeatedCall } = await startCountingModel();
    const cluster = createCluster(server);
    const { address, namespace } = server;
    const worker = { address, namespace, taskQueue: cluster.queue, data: cluster.data };
    const engine = await cluster.openEngine();
    const run = await engine.start({ workflow: COUNTING_WORKFLOW });
    expect(await startProcess({ worker, ...commonOptions, stopPoint: '4' }).lastLine).toBe('4');
    expect(countModelCalls()).toBe(4);
    const otherProcess = startProcess({ worker, ...commonOptions });
    const { output } = await run.result();
    expectOneRepeatedCall(output);
    otherProcess.closeStdin();
    expect(await otherProcess.lastLine).toBe('4');
  });
});
