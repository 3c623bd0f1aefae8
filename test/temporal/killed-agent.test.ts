import { expect, it } from 'vitest';
import {
  COUNTER,
  COUNTING_WORKFLOW,
  COUNTING_BY_WORKFLOW,
  startCountingModel,
  startProcess,
} from '../agents/killable-process.ts';
import { describeTemporal } from '../support/temporal.ts';
import { createCluster } from './cluster.ts';

describeTemporal('a workflow called as a tool by an agent whose worker is killed', (server) => {
  it('continues on another worker, and is not started again', async () => {
    const { common, countModelCalls, expectOneRepeated } = await startCountingModel();
    const cluster = createCluster(server);
    const { address, namespace } = server;
    const worker = { address, namespace, taskQueue: cluster.queue, data: cluster.data };
    const engine = await cluster.engine();
    await engine.deploy(COUNTER);
    const run = await engine.start({ workflow: COUNTING_BY_WORKFLOW });
    expect(await startProcess({ worker, ...common, stop: '4' }).lastLine).toBe('4');
    expect(countModelCalls()).toBe(4);
    const other = startProcess({ worker, ...common });
    const { output } = await run.result();
    expectOneRepeated(output);
    expect(await engine.childRuns(run.runId)).toHaveLength(4);
    other.end();
    expect(await other.lastLine).toBe('4');
  });
});

describeTemporal('an agent whose worker is killed during the fourth tool call', (server) => {
  it('repeats only the interrupted call, on another worker', async () => {
    const { common, countModelCalls, expectOneRepeated } = await startCountingModel();
    const cluster = createCluster(server);
    const { address, namespace } = server;
    const worker = { address, namespace, taskQueue: cluster.queue, data: cluster.data };
    const engine = await cluster.engine();
    const run = await engine.start({ workflow: COUNTING_WORKFLOW });
    expect(await startProcess({ worker, ...common, stop: '4' }).lastLine).toBe('4');
    expect(countModelCalls()).toBe(4);
    const other = startProcess({ worker, ...common });
    const { output } = await run.result();
    expectOneRepeated(output);
    other.end();
    expect(await other.lastLine).toBe('4');
  });
});
