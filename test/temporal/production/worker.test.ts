import { NativeConnection } from '@temporalio/worker';
import { WorkflowClient } from '@temporalio/client';
import { expect, it, onTestFinished, vi } from 'vitest';
import { startHeddle } from '../../support/heddle.ts';
import { Script, work } from '../../support/script.ts';
import { describeTemporal } from '../../support/temporal.ts';
import { fn, workflow } from '../../support/workflow.ts';
import { createCluster } from '../cluster.ts';

const graph = workflow([work('A'), fn('Z', 'return <a.n>')], ['Start -> A -> Z']);

describeTemporal('workers of the production server', (server) => {
  it('of a versioned deployment finish the runs that they have started; new runs start on the current version', async () => {
    const cluster = createCluster(server);
    const deployment = `looms-${cluster.queue}`;
    const [oldScript, newScript] = [new Script(), new Script()];
    const engine = await cluster.engine({ blocks: [oldScript.executor] });
    const connection = await NativeConnection.connect({ address: server.address });
    onTestFinished(() => connection.close());
    const makeCurrent = (buildId: string): Promise<unknown> =>
      connection.workflowService.setWorkerDeploymentCurrentVersion({
        namespace: server.namespace,
        deploymentName: deployment,
        buildId,
        ignoreMissingTaskQueues: true,
      });
    await cluster.worker({ blocks: [oldScript.executor], tuning: { version: { deployment, build: '1' } } });
    await makeCurrent('1');
    const first = await engine.start({ workflow: graph });
    const call = await oldScript.nextCall('A');
    await cluster.worker({ blocks: [newScript.executor], tuning: { version: { deployment, build: '2' } } });
    await makeCurrent('2');
    const second = await engine.start({ workflow: graph });
    (await newScript.nextCall('A')).done({ n: 2 });
    expect(await second.result()).toMatchObject({ status: 'completed', output: { result: 2 } });
    call.done({ n: 1 });
    expect(await first.result()).toMatchObject({ status: 'completed', output: { result: 1 } });
    expect([oldScript.calls, newScript.calls]).toEqual([['A'], ['A']]);
  });

  it('with a version can be started from the command line, and are ready when the server knows the version', async () => {
    const cluster = createCluster(server);
    const target = ['--address', server.address, '--namespace', server.namespace, '--queue', cluster.queue];
    const build = `looms-${cluster.queue}:7`;
    const worker = startHeddle(['worker', '--json', '--build', build, ...target], { cwd: cluster.data });
    expect(JSON.parse(await worker.firstLine())).toMatchObject({ ready: true, queue: cluster.queue });
  });

  it('receive the runs that their own process starts immediately if eager start is on', async () => {
    const start = vi.spyOn(WorkflowClient.prototype, 'start');
    const engine = await createCluster(server).engine({}, { worker: true, eager: true });
    const run = await engine.execute({ workflow: workflow([fn('A', 'return 1')], ['Start -> A']) });
    expect(run).toMatchObject({ status: 'completed', output: { result: 1 } });
    const handle = await (start.mock.results[0]?.value as ReturnType<WorkflowClient['start']>);
    expect(handle.eagerlyStarted).toBe(true);
  });
});
