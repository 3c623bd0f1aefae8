import type { JsonObject } from '@heddle/core';
import { createEngine } from '@heddle/engine';
import type { Engine } from '@heddle/engine';
import { openStores } from '@heddle/engine/stores';
import type { TemporalOptions } from '@heddle/temporal';
import { Client, Connection, WorkflowFailedError } from '@temporalio/client';
import { expect, it, onTestFinished } from 'vitest';
import { CANCEL_SIGNAL } from '../../packages/temporal/src/messages.ts';
import type { CancelMessage } from '../../packages/temporal/src/messages.ts';
import { createDataFolder } from '../support/data-folder.ts';
import { overrideMethods } from '../support/override-methods.ts';
import { ScriptedExecutor, work } from '../support/scripted-executor.ts';
import { describeTemporal } from '../support/temporal.ts';
import { block, fn, loop, workflow } from '../support/workflow.ts';
import { audit } from './chaos/audit.ts';
import { createCluster } from './cluster.ts';
import { openEngine } from './replay/open-engine.ts';
import { createRuntime } from './runtime.ts';

/** A segment is a part of a run that one process drives between two checkpoints. */
describeTemporal('segments', (server) => {
  const connectClient = async (): Promise<Client> => {
    const connection = await Connection.connect({ address: server.address });
    onTestFinished(() => connection.close());
    return new Client({ connection, namespace: server.namespace });
  };
  /** Returns the types of the activities of the run. */
  const activityTypesOf = async (client: Client, runId: string): Promise<string[]> => {
    const { events } = await client.workflow.getHandle(runId).fetchHistory();
    return (events ?? []).flatMap(
      ({ activityTaskScheduledEventAttributes: attributes }) => attributes?.activityType?.name ?? [],
    );
  };

  /** Returns the number of workflow tasks that timed out. */
  const countTimedOutTasks = async (client: Client, workflowId: string): Promise<number> => {
    const { events } = await client.workflow.getHandle(workflowId).fetchHistory();
    return (events ?? []).filter(({ workflowTaskTimedOutEventAttributes: timedOut }) => timedOut).length;
  };

  const completeAllCalls = async (
    scriptedExecutor: ScriptedExecutor,
    blockName: string,
    output: JsonObject,
  ): Promise<never> => {
    for (;;) (await scriptedExecutor.nextCall(blockName)).complete(output);
  };

  it('a block that takes too long for a workflow task continues in an activity without a second execution', async () => {
    const client = await connectClient();
    const scriptedExecutor = new ScriptedExecutor();
    const executor = { ...scriptedExecutor.executor, class: 'compute' as const };
    const engine = await createRuntime(server).open({ blocks: [executor] });
    const run = await engine.start({
      workflow: workflow(
        [fn('F', 'return 1'), work('A'), fn('Z', 'return [<f.result>, <a.n>]')],
        ['Start -> F -> A -> Z'],
      ),
    });
    const call = await scriptedExecutor.nextCall('A');
    await expect
      .poll(() => activityTypesOf(client, run.runId), { timeout: 30_000 })
      .toEqual(['heddle.segment']);
    expect(call.context.signal.aborted).toBe(false);
    call.complete({ n: 2 });
    // If the machine delays the worker, the server times a task out, and its blocks run again.
    void completeAllCalls(scriptedExecutor, 'A', { n: 2 });
    expect(await run.result()).toMatchObject({ status: 'completed', output: { result: [1, 2] } });
    const timedOutTaskCount = await countTimedOutTasks(client, run.runId);
    expect(scriptedExecutor.calls.length).toBeLessThanOrEqual(1 + timedOutTaskCount);
    const logs = await engine.getLogs(run.runId);
    expect(logs.map(({ blockName }) => blockName)).toEqual(['Start', 'F', 'A', 'Z']);
  });

  it('a loop of compute blocks needs no activity for any number of iterations', async () => {
    const client = await connectClient();
    const engine = await createRuntime(server).open();
    const definition = workflow(
      [
        loop('L', { loopType: 'for', count: 50 }, fn('F', 'return <loop.index>')),
        fn('Z', 'return <l.results>.length'),
      ],
      ['Start -> L -> F', 'L -> Z'],
    );
    const run = await engine.start({ workflow: definition });
    expect(await run.result()).toMatchObject({ status: 'completed', output: { result: 50 } });
    expect(await activityTypesOf(client, run.runId)).toEqual([]);
  });

  it('a run that is cancelled during its last workflow task is cancelled in all stores', async () => {
    const client = await connectClient();
    const scriptedExecutor = new ScriptedExecutor({ A: () => ({ output: {} }) });
    const { engine, stores, close } = await openEngine(server, {
      data: createDataFolder(),
      options: { blocks: [{ ...scriptedExecutor.executor, class: 'compute' }] },
    });
    onTestFinished(close);
    const definition = workflow([work('A'), work('B')], ['Start -> A -> B']);
    const run = await engine.start({ workflow: definition });
    const call = await scriptedExecutor.nextCall('B');
    const atMs = Date.now();
    const message: CancelMessage = { atMs, id: 'cancelled', chunk: { v: [{ atMs, type: 'cancelled' }] } };
    const handle = client.workflow.getHandle(run.runId);
    await handle.signal(CANCEL_SIGNAL, message);
    // The worker stores the end of the run. The server then discards the task, because the task lacks the signal.
    call.complete();
    await expect(handle.result()).rejects.toThrow(WorkflowFailedError);
    expect(await engine.getRun(run.runId)).toMatchObject({ status: 'cancelled' });
    expect((await audit(stores)).problems).toEqual([]);
  });

  it('all values that a run stores are removed with it: results, error messages and answers', async () => {
    const openedStores = openStores({ data: createDataFolder(), shared: true });
    onTestFinished(() => openedStores.close());
    const keys = new Set<string>();
    const put = async (json: string): Promise<string> => {
      const key = await openedStores.values.put(json);
      keys.add(key);
      return key;
    };
    const values = overrideMethods(openedStores.values, { put });
    const scriptedExecutor = new ScriptedExecutor({}, ({ attempt }) => {
      if (attempt === 1) throw new Error('The first attempt fails.');
      return { output: { text: 'x'.repeat(20_000) } };
    });
    const engine = await createCluster(server).openEngine({ blocks: [scriptedExecutor.executor] }, {
      worker: true,
      stores: { ...openedStores, values },
    } as Partial<TemporalOptions>);
    const retry = { enabled: true, maxTries: 2, waitBetweenTriesMs: 1 };
    const definition = workflow(
      [block('H', 'human_in_the_loop'), work('A', { retry }), fn('F', 'return <a.text>')],
      ['Start -> H -> A -> F'],
    );
    const { runId } = await engine.execute({ workflow: definition });
    expect(await engine.resume(runId, { input: { name: 'Ada' } })).toMatchObject({ status: 'completed' });
    // The chunks with the pause, the answer, the failure and the two long results, and the text itself.
    expect(keys.size).toBeGreaterThanOrEqual(4);
    expect(new Set(await openedStores.runs.remove(runId))).toEqual(keys);
  });

  it('all concurrent blocks start before the run continues after the first result, as on the local runtime', async () => {
    const calcExecutor = { types: ['calc'], class: 'compute' as const, execute: () => ({ output: {} }) };
    const definition = workflow(
      [block('H', 'human_in_the_loop'), ...['A', 'B', 'C'].map((name) => block(name, 'calc'))],
      ['Start -> H -> A -> C', 'H -> B'],
    );
    const listCompletedBlocks = async (engine: Engine): Promise<string[]> => {
      const { runId } = await engine.execute({ workflow: definition });
      await engine.resume(runId);
      const names: string[] = [];
      for await (const event of engine.follow(runId))
        if (event.type === 'block:completed') names.push(event.log.blockName);
      return names;
    };
    const localEngine = await createEngine({ blocks: [calcExecutor] });
    onTestFinished(() => localEngine.close());
    const remoteEngine = await createRuntime(server).open({ blocks: [calcExecutor] });
    expect(await listCompletedBlocks(remoteEngine)).toEqual(await listCompletedBlocks(localEngine));
  });
});
