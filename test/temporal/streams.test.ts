import { openServiceStore } from '@heddle/service';
import { expect, it } from 'vitest';
import { tenantIsolation, testApi } from '../support/api.ts';
import { Script, work } from '../support/script.ts';
import { describeTemporal } from '../support/temporal.ts';
import { block, workflow } from '../support/workflow.ts';
import { createCluster } from './cluster.ts';
import { expectStreamed } from '../streams/execute.ts';
import { expectTextEmittedAgain, startStreamingProcess } from '../streams/talk-process.ts';
import { expectRedacted, PARTS, SECRET, SECRET_READER } from '../streams/secret.ts';
import { collect, emissionsIn, summaryOf, TALK } from '../streams/talk.ts';

describeTemporal('a chunk that a block emits on a worker', (server) => {
  it('reaches the engine that started the run, while the block runs', async () => {
    const cluster = createCluster(server);
    const script = new Script();
    const engine = await cluster.engine();
    const run = await engine.start({ workflow: workflow([work('A')], ['Start -> A']) });
    const events = run.events()[Symbol.asyncIterator]();
    await cluster.worker({ blocks: [script.executor] });
    const call = await script.nextCall('A');
    call.context.emit({ type: 'text', text: 'now' });
    const received = [];
    while (emissionsIn(received).length === 0) {
      const { value, done } = await events.next();
      if (done) throw new Error('The events ended.');
      received.push(value);
    }
    call.context.emit({ type: 'tool', phase: 'start', id: '1', name: 'search' });
    call.done();
    received.push(...(await collect({ [Symbol.asyncIterator]: () => events })));
    const blockEvents = summaryOf(received).filter((text) => text.startsWith('A '));
    expect(blockEvents).toEqual(['A started', 'A "now"', 'A tool', 'A completed']);
    expect(emissionsIn(received).map(({ number }) => number)).toEqual([1, 2]);
    for (const lateEvents of [engine.follow(run.runId), run.events()])
      expect(summaryOf(await collect(lateEvents)).slice(-5)).toEqual([...blockEvents, 'run ended']);
  });

  it('is redacted with the secrets of the worker, even across chunks, and is not published in part after a timeout', async () => {
    const cluster = createCluster(server);
    const script = new Script();
    const engine = await cluster.engine({ env: { KEY: { value: '', secret: false } } });
    await cluster.worker({ env: { KEY: SECRET }, blocks: [script.executor] });
    const run = await engine.start({ workflow: SECRET_READER });
    const call = await script.nextCall('A');
    for (const text of PARTS) call.context.emit({ type: 'text', text });
    call.done();
    await run.result();
    expectRedacted(await collect(engine.follow(run.runId)));

    const graph = workflow([block('A', 'work', { key: '{{KEY}}' }, { timeoutMs: 1500 })], ['Start -> A']);
    const slow = await engine.start({ workflow: graph });
    const emit = (await script.nextCall('A')).context.emit;
    emit({ type: 'text', text: 'say sesame' });
    await slow.result();
    const events = await collect(engine.follow(slow.runId));
    expect(summaryOf(events).slice(-3)).toEqual(['A "say "', 'A failed', 'run ended']);
  });

  it('is part of a streamed execution over HTTP, while the block runs', async () => {
    const cluster = createCluster(server);
    const script = new Script();
    const store = await openServiceStore();
    const environments = {
      names: () => ['KEY'],
      values: () => ({ KEY: SECRET }),
    };
    const engine = await cluster.engine({ ...tenantIsolation(store), environments });
    await cluster.worker({ ...tenantIsolation(store), environments, blocks: [script.executor] });
    await expectStreamed(await testApi({ engine, store }), script);
  });

  it('is discarded when the worker is killed, and is then emitted again by the next worker', async () => {
    const cluster = createCluster(server);
    const { address, namespace } = server;
    const worker = { address, namespace, taskQueue: cluster.queue, data: cluster.data };
    const engine = await cluster.engine();
    const run = await engine.start({ workflow: TALK });
    await startStreamingProcess({ worker, killBeforeWord: 2 }).exited;
    const other = startStreamingProcess({ worker });
    await run.result();
    expectTextEmittedAgain(await collect(engine.follow(run.runId)));
    other.end();
    await other.exited;
  });
});
