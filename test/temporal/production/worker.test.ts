import { NativeConnection } from '@temporalio/worker';
import { WorkflowClient } from '@temporalio/client';
import { expect, it, onTestFinished, vi } from 'vitest';
import { startHeddle } from '../../support/heddle.ts';
import { ScriptedExecutor, work } from '../../support/scripted-executor.ts';
import { describeTemporal } from '../../support/temporal.ts';
import { fn, workflow } from '../../support/workflow.ts';
import { createCluster } from '../cluster.ts';

const definition = workflow([work('A'), fn('Z', 'return <a.n>')], ['Start -> A -> Z']);

describeTemporal('workers of the production server', (server) => {
  it('of a versioned deployment finish the runs that they have started; new runs start on the current version', async () => {
    const cluster = createCluster(server);
    const deployment = `looms-${cluster.queue}`;
    const [oldScriptedExecutor, newScriptedExecutor] = [new ScriptedExecutor(), new ScriptedExecutor()];
    const engine = await cluster.openEngine({ blocks: [oldScriptedExecutor.executor] });
    const connection = await NativeConnection.connect({ address: server.address });
    onTestFinished(() => connection.close());
    const setCurrentVersion = (buildId: string): Promise<unknown> =>
      connection.workflowService.setWorkerDeploymentCurrentVersion({
        namespace: server.namespace,
        deploymentName: deployment,
        buildId,
        ignoreMissingTaskQueues: true,
      });
    await cluster.startWorker({
      blocks: [oldScriptedExecutor.executor],
      tuning: { version: { deployment, build: '1' } },
    });
    await setCurrentVersion('1');
    const oldRun = await engine.start({ workflow: definition });
    const call = await oldScriptedExecutor.nextCall('A');
    await cluster.startWorker({
      blocks: [newScriptedExecutor.executor],
      tuning: { version: { deployment, build: '2' } },
    });
    await setCurrentVersion('2');
    const newRun = await engine.start({ workflow: definition });
    (await newScriptedExecutor.nextCall('A')).complete({ n: 2 });
    expect(await newRun.result()).toMatchObject({ status: 'completed', output: { result: 2 } });
    call.complete({ n: 1 });
    expect(await oldRun.result()).toMatchObject({ status: 'completed', output: { result: 1 } });
    expect([oldScriptedExecutor.calls, newScriptedExecutor.calls]).toEqual([['A'], ['A']]);
  });

  it('with a version can be started from the command line, and are ready when the server knows the version', async () => {
    const cluster = createCluster(server);
    const serverArgs = [
      '--address',
      server.address,
      '--namespace',
      server.namespace,
      '--queue',
      cluster.queue,
    ];
    const build = `looms-${cluster.queue}:7`;
    const worker = startHeddle(['worker', '--json', '--build', build, ...serverArgs], { cwd: cluster.data });
    expect(JSON.parse(await worker.readFirstLine())).toMatchObject({ ready: true, queue: cluster.queue });
  });

  it('immediately receive the runs that their own process starts, if eager start is on', async () => {
    const startSpy = vi.spyOn(WorkflowClient.prototype, 'start');
    const engine = await createCluster(server).openEngine({}, { worker: true, eager: true });
    const run = await engine.execute({ workflow: workflow([fn('A', 'return 1')], ['Start -> A']) });
    expect(run).toMatchObject({ status: 'completed', output: { result: 1 } });
    const handle = await (startSpy.mock.results[0]?.value as ReturnType<WorkflowClient['start']>);
    expect(handle.eagerlyStarted).toBe(true);
  });
});
