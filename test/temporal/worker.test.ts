import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ScriptedExecutor, work } from '../support/scripted-executor.ts';
import { describeTemporal } from '../support/temporal.ts';
import { fn, workflow } from '../support/workflow.ts';
import { createCluster } from './cluster.ts';

const POLL_OPTIONS = { timeout: 30_000 };
const twoStepWorkflow = workflow([work('A'), fn('Z', 'return <a.n> + 1')], ['Start -> A -> Z']);

/** Executes a block that never ends, and ignores its abort signal. */
const unresponsiveExecutor = {
  ...new ScriptedExecutor().executor,
  execute: () => new Promise<never>(() => undefined),
};

async function get(url: string): Promise<{ status: number; text: string }> {
  const response = await fetch(url);
  return { status: response.status, text: await response.text() };
}

describeTemporal('a worker', (server) => {
  it('runs the workflows that engines without a worker start, and stops on request', async () => {
    const scriptedExecutor = new ScriptedExecutor({ A: () => ({ output: { n: 1 } }) });
    const cluster = createCluster(server);
    const engine = await cluster.openEngine({ blocks: [scriptedExecutor.executor] });
    const worker = await cluster.startWorker({ blocks: [scriptedExecutor.executor] });
    expect(worker.status()).toMatchObject({ state: 'polling', roles: ['engine', 'effects', 'segments'] });
    expect(await engine.execute({ workflow: twoStepWorkflow })).toMatchObject({
      status: 'completed',
      output: { result: 2 },
    });
    expect(worker.status().taskCounters.map(({ task }) => task)).toContain('effect');
    await worker.stop();
    await worker.finished;
    expect(worker.status()).toMatchObject({ state: 'stopped', activityCount: 0 });
  });

  it('serves only the queues of its roles', async () => {
    const scriptedExecutor = new ScriptedExecutor({ A: () => ({ output: { n: 1 } }) });
    const cluster = createCluster(server);
    const engine = await cluster.openEngine({ blocks: [scriptedExecutor.executor] });
    const engineWorker = await cluster.startWorker({
      blocks: [scriptedExecutor.executor],
      tuning: { roles: ['engine'] },
    });
    const { runId } = await engine.start({ workflow: twoStepWorkflow });
    await expect.poll(() => engineWorker.status().taskCounters.length, POLL_OPTIONS).toBeGreaterThan(0);
    expect(scriptedExecutor.calls).toEqual([]);
    const effectWorker = await cluster.startWorker({
      blocks: [scriptedExecutor.executor],
      tuning: { roles: ['effects'] },
    });
    const run = await engine.attach(runId);
    expect(await run.result()).toMatchObject({ status: 'completed', output: { result: 2 } });
    expect(effectWorker.status().taskCounters).toMatchObject([
      { task: 'effect', type: 'work', done: 1, failed: 0 },
    ]);
    expect(engineWorker.status().taskCounters.map(({ task }) => task)).not.toContain('effect');
  });

  it('runs only workflow code and effects if the sandboxes are on separate workers', async () => {
    const cluster = createCluster(server);
    const engine = await cluster.openEngine({}, { localSegments: false });
    const engineWorker = await cluster.startWorker({
      localSegments: false,
      tuning: { roles: ['engine', 'effects'] },
    });
    const sandboxWorker = await cluster.startWorker({
      localSegments: false,
      tuning: { roles: ['segments'] },
    });
    const definition = workflow(
      [fn('A', 'return 20'), fn('B', 'return <a.result> + 1')],
      ['Start -> A -> B'],
    );
    expect(await engine.execute({ workflow: definition })).toMatchObject({
      status: 'completed',
      output: { result: 21 },
    });
    expect(sandboxWorker.status().taskCounters).toMatchObject([{ task: 'segment', local: false }]);
    expect(engineWorker.status().taskCounters.map(({ task }) => task)).not.toContain('segment');
  });

  describe('that stops', () => {
    it('waits for running blocks, and reports their results', async () => {
      const [firstScriptedExecutor, secondScriptedExecutor] = [
        new ScriptedExecutor(),
        new ScriptedExecutor({ A: () => ({ output: { n: 7 } }) }),
      ];
      const cluster = createCluster(server);
      const engine = await cluster.openEngine({ blocks: [firstScriptedExecutor.executor] });
      const stoppingWorker = await cluster.startWorker({ blocks: [firstScriptedExecutor.executor] });
      const run = await engine.start({ workflow: twoStepWorkflow });
      const call = await firstScriptedExecutor.nextCall('A');
      const stopPromise = stoppingWorker.stop({ drainMs: 30_000 });
      expect(stoppingWorker.status()).toMatchObject({ state: 'draining', activityCount: 1 });
      call.complete({ n: 1 });
      await stopPromise;
      await cluster.startWorker({ blocks: [secondScriptedExecutor.executor] });
      expect(await run.result()).toMatchObject({ status: 'completed', output: { result: 2 } });
      expect([firstScriptedExecutor.abortedCalls, secondScriptedExecutor.calls]).toEqual([[], []]);
    });

    it('cancels blocks after the grace period and reports finished work, so that other workers continue immediately', async () => {
      const [firstScriptedExecutor, secondScriptedExecutor] = [
        new ScriptedExecutor(),
        new ScriptedExecutor({ A: () => ({ output: { n: 7 } }) }),
      ];
      const cluster = createCluster(server);
      const engine = await cluster.openEngine({ blocks: [firstScriptedExecutor.executor] });
      const stoppingWorker = await cluster.startWorker({ blocks: [firstScriptedExecutor.executor] });
      const run = await engine.start({ workflow: twoStepWorkflow });
      await firstScriptedExecutor.nextCall('A');
      await cluster.startWorker({ blocks: [secondScriptedExecutor.executor] });
      await stoppingWorker.stop({ drainMs: 0 });
      expect(await run.result()).toMatchObject({ status: 'completed', output: { result: 8 } });
      expect([
        firstScriptedExecutor.abortedCalls,
        firstScriptedExecutor.calls,
        secondScriptedExecutor.calls,
      ]).toEqual([['A'], ['A'], ['A']]);
    });

    it('abandons blocks that do not stop, and another worker continues the run', async () => {
      const secondScriptedExecutor = new ScriptedExecutor({ A: () => ({ output: { n: 7 } }) });
      const cluster = createCluster(server);
      const engine = await cluster.openEngine({ blocks: [unresponsiveExecutor] });
      const hangingWorker = await cluster.startWorker({ blocks: [unresponsiveExecutor] });
      const run = await engine.start({ workflow: twoStepWorkflow });
      await expect.poll(() => hangingWorker.status().activityCount, POLL_OPTIONS).toBe(1);
      await cluster.startWorker({ blocks: [secondScriptedExecutor.executor] });
      await hangingWorker.stop({ drainMs: 0, killMs: 100 });
      await hangingWorker.finished;
      expect(hangingWorker.status()).toMatchObject({ state: 'stopped' });
      expect(await run.result()).toMatchObject({ status: 'completed', output: { result: 8 } });
    });

    it('can be stopped twice', async () => {
      const worker = await createCluster(server).startWorker();
      await Promise.all([worker.stop(), worker.stop({ drainMs: 0 })]);
      await worker.stop();
      expect(worker.status().state).toBe('stopped');
    });
  });

  describe('with an HTTP endpoint', () => {
    it('serves its state and its counters over HTTP', async () => {
      const scriptedExecutor = new ScriptedExecutor();
      const cluster = createCluster(server);
      const engine = await cluster.openEngine({ blocks: [scriptedExecutor.executor] });
      const worker = await cluster.startWorker({ blocks: [scriptedExecutor.executor], http: { port: 0 } });
      const { url = '' } = worker;
      expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
      expect(await get(`${url}/healthz`)).toEqual({ status: 200, text: 'polling\n' });
      expect((await get(`${url}/`)).status).toBe(404);
      const run = await engine.start({ workflow: twoStepWorkflow });
      const call = await scriptedExecutor.nextCall('A');
      const { text } = await get(`${url}/metrics`);
      expect(text).toMatch(/^heddle_worker_state\{state="polling"\} 1$/m);
      expect(text).toMatch(/^heddle_activities_running 1$/m);
      const stopPromise = worker.stop({ drainMs: 30_000 });
      expect(await get(`${url}/healthz`)).toEqual({ status: 503, text: 'draining\n' });
      call.complete({ n: 1 });
      await stopPromise;
      await expect(get(`${url}/healthz`)).rejects.toThrow(/fetch failed/);
      const nextWorker = await cluster.startWorker({
        blocks: [scriptedExecutor.executor],
        http: { port: 0 },
      });
      await run.result();
      const donePattern =
        /^heddle_tasks_total\{task="segment",type="",local="true",outcome="done"\} [1-9]\d*$/m;
      expect((await get(`${nextWorker.url}/metrics`)).text).toMatch(donePattern);
    });

    it('cannot start if the port is in use', async () => {
      const portOwner = createServer().listen(0, '127.0.0.1');
      onTestFinished(() => void portOwner.close());
      await once(portOwner, 'listening');
      const { port } = portOwner.address() as AddressInfo;
      await expect(createCluster(server).startWorker({ http: { port } })).rejects.toMatchObject({
        code: 'OPTIONS_INVALID',
        message: expect.stringContaining(`127.0.0.1:${port}`) as string,
      });
    });
  });

  it('reports an invalid setting of one role even if the worker of another role exists already', async () => {
    const tuning = { roles: ['effects', 'engine'], maxCachedWorkflows: 1 } as const;
    const failure = {
      code: 'OPTIONS_INVALID',
      message: expect.stringContaining('maxCachedWorkflows') as string,
    };
    await expect(createCluster(server).openEngine({}, { worker: tuning })).rejects.toMatchObject(failure);
    await expect(createCluster(server).startWorker({ tuning })).rejects.toMatchObject(failure);
  });

  it('cannot have two executors for one block type', async () => {
    const blocks = [new ScriptedExecutor().executor, new ScriptedExecutor().executor];
    await expect(createCluster(server).startWorker({ blocks })).rejects.toMatchObject({
      code: 'EXECUTOR_DUPLICATE',
    });
  });
});
