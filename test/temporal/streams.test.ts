import { openServiceStore } from '@heddle/service';
import { expect, it } from 'vitest';
import { tenantOptionsOf, createTestApi } from '../support/api.ts';
import { ScriptedExecutor, work } from '../support/scripted-executor.ts';
import { describeTemporal } from '../support/temporal.ts';
import { block, workflow } from '../support/workflow.ts';
import { createCluster } from './cluster.ts';
import { expectStreamed } from '../streams/execute.ts';
import { expectTextEmittedAgain, startStreamingProcess } from '../streams/talk-process.ts';
import { expectRedacted, TEXT_CHUNKS, SECRET, SECRET_READER_WORKFLOW } from '../streams/secret.ts';
import { collect, emissionsIn, summarize, TALK_WORKFLOW } from '../streams/talk.ts';

describeTemporal('a chunk that a block emits on a worker', (server) => {
  it('reaches the engine that started the run, while the block runs', async () => {
    const cluster = createCluster(server);
    const scriptedExecutor = new ScriptedExecutor();
    const engine = await cluster.openEngine();
    const run = await engine.start({ workflow: workflow([work('A')], ['Start -> A']) });
    const events = run.events()[Symbol.asyncIterator]();
    await cluster.startWorker({ blocks: [scriptedExecutor.executor] });
    const call = await scriptedExecutor.nextCall('A');
    call.context.emit({ type: 'text', text: 'now' });
    const receivedEvents = [];
    while (emissionsIn(receivedEvents).length === 0) {
      const { value, done } = await events.next();
      if (done) throw new Error('The events ended.');
      receivedEvents.push(value);
    }
    call.context.emit({ type: 'tool', phase: 'start', id: '1', name: 'search' });
    call.complete();
    receivedEvents.push(...(await collect({ [Symbol.asyncIterator]: () => events })));
    const blockEvents = summarize(receivedEvents).filter((text) => text.startsWith('A '));
    expect(blockEvents).toEqual(['A started', 'A "now"', 'A tool', 'A completed']);
    expect(emissionsIn(receivedEvents).map(({ number }) => number)).toEqual([1, 2]);
    for (const lateEvents of [engine.follow(run.runId), run.events()])
      expect(summarize(await collect(lateEvents)).slice(-5)).toEqual([...blockEvents, 'run ended']);
  });

  it('is redacted with the secrets of the worker, even across chunks, and is not published in part after a timeout', async () => {
    const cluster = createCluster(server);
    const scriptedExecutor = new ScriptedExecutor();
    const engine = await cluster.openEngine({ env: { KEY: { value: '', secret: false } } });
    await cluster.startWorker({ env: { KEY: SECRET }, blocks: [scriptedExecutor.executor] });
    const run = await engine.start({ workflow: SECRET_READER_WORKFLOW });
    const call = await scriptedExecutor.nextCall('A');
    for (const text of TEXT_CHUNKS) call.context.emit({ type: 'text', text });
    call.complete();
    await run.result();
    expectRedacted(await collect(engine.follow(run.runId)));

    const definition = workflow(
      [block('A', 'work', { key: '{{KEY}}' }, { timeoutMs: 1500 })],
      ['Start -> A'],
    );
    const slowRun = await engine.start({ workflow: definition });
    const emit = (await scriptedExecutor.nextCall('A')).context.emit;
    emit({ type: 'text', text: 'say sesame' });
    await slowRun.result();
    const events = await collect(engine.follow(slowRun.runId));
    expect(summarize(events).slice(-3)).toEqual(['A "say "', 'A failed', 'run ended']);
  });

  it('is part of a streamed execution over HTTP, while the block runs', async () => {
    const cluster = createCluster(server);
    const scriptedExecutor = new ScriptedExecutor();
    const store = await openServiceStore();
    const environments = {
      names: () => ['KEY'],
      values: () => ({ KEY: SECRET }),
    };
    const engine = await cluster.openEngine({ ...tenantOptionsOf(store), environments });
    await cluster.startWorker({
      ...tenantOptionsOf(store),
      environments,
      blocks: [scriptedExecutor.executor],
    });
    await expectStreamed(await createTestApi({ engine, store }), scriptedExecutor);
  });

  it('is discarded when the worker is killed, and is then emitted again by the next worker', async () => {
    const cluster = createCluster(server);
    const { address, namespace } = server;
    const worker = { address, namespace, taskQueue: cluster.queue, data: cluster.data };
    const engine = await cluster.openEngine();
    const run = await engine.start({ workflow: TALK_WORKFLOW });
    await startStreamingProcess({ worker, killBeforeWord: 2 }).exited;
    const otherProcess = startStreamingProcess({ worker });
    await run.result();
    expectTextEmittedAgain(await collect(engine.follow(run.runId)));
    otherProcess.end();
    await otherProcess.exited;
  });
});
