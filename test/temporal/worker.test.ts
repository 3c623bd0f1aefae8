import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Script, work } from '../support/script.ts';
import { describeTemporal } from '../support/temporal.ts';
import { fn, workflow } from '../support/workflow.ts';
import { createCluster } from './cluster.ts';

const POLL = { timeout: 30_000 };
const twoSteps = workflow([work('A'), fn('Z', 'return <a.n> + 1')], ['Start -> A -> Z']);

/** Executes a block that never ends, and ignores its abort signal. */
const unresponsive = { ...new Script().executor, execute: () => new Promise<never>(() => undefined) };

async function get(url: string): Promise<{ status: number; text: string }> {
  const response = await fetch(url);
  return { status: response.status, text: await response.text() };
}

describeTemporal('a worker', (server) => {
  it('runs the workflows that engines without a worker start, and stops on request', async () => {
    const script = new Script({ A: () => ({ output: { n: 1 } }) });
    const cluster = createCluster(server);
    const engine = await cluster.engine({ blocks: [script.executor] });
    const worker = await cluster.worker({ blocks: [script.executor] });
    expect(worker.status()).toMatchObject({ state: 'polling', roles: ['engine', 'effects', 'segments'] });
    expect(await engine.execute({ workflow: twoSteps })).toMatchObject({
      status: 'completed',
      output: { result: 2 },
    });
    expect(worker.status().taskCounters.map(({ task }) => task)).toContain('effect');
    await worker.stop();
    await worker.finished;
    expect(worker.status()).toMatchObject({ state: 'stopped', activities: 0 });
  });

  it('serves only the queues of its roles', async () => {
    const script = new Script({ A: () => ({ output: { n: 1 } }) });
    const cluster = createCluster(server);
    const engine = await cluster.engine({ blocks: [script.executor] });
    const engineWorker = await cluster.worker({ blocks: [script.executor], tuning: { roles: ['engine'] } });
    const { runId } = await engine.start({ workflow: twoSteps });
    await expect.poll(() => engineWorker.status().taskCounters.length, POLL).toBeGreaterThan(0);
    expect(script.calls).toEqual([]);
    const effectWorker = await cluster.worker({ blocks: [script.executor], tuning: { roles: ['effects'] } });
    const run = await engine.attach(runId);
    expect(await run.result()).toMatchObject({ status: 'completed', output: { result: 2 } });
    expect(effectWorker.status().taskCounters).toMatchObject([
      { task: 'effect', type: 'work', done: 1, failed: 0 },
    ]);
    expect(engineWorker.status().taskCounters.map(({ task }) => task)).not.toContain('effect');
  });

  it('runs only workflow code and effects if the sandboxes are on separate workers', async () => {
    const cluster = createCluster(server);
    const engine = await cluster.engine({}, { localSegments: false });
    const engineWorker = await cluster.worker({
      localSegments: false,
      tuning: { roles: ['engine', 'effects'] },
    });
    const sandboxWorker = await cluster.worker({ localSegments: false, tuning: { roles: ['segments'] } });
    const graph = workflow([fn('A', 'return 20'), fn('B', 'return <a.result> + 1')], ['Start -> A -> B']);
    expect(await engine.execute({ workflow: graph })).toMatchObject({
      status: 'completed',
      output: { result: 21 },
    });
    expect(sandboxWorker.status().taskCounters).toMatchObject([{ task: 'segment', local: false }]);
    expect(engineWorker.status().taskCounters.map(({ task }) => task)).not.toContain('segment');
  });

  describe('that stops', () => {
    it('waits for running blocks, and reports their results', async () => {
      const [first, second] = [new Script(), new Script({ A: () => ({ output: { n: 7 } }) })];
      const cluster = createCluster(server);
      const engine = await cluster.engine({ blocks: [first.executor] });
      const stoppingWorker = await cluster.worker({ blocks: [first.executor] });
      const run = await engine.start({ workflow: twoSteps });
      const call = await first.nextCall('A');
      const stopped = stoppingWorker.stop({ drainMs: 30_000 });
      expect(stoppingWorker.status()).toMatchObject({ state: 'draining', activities: 1 });
      call.done({ n: 1 });
      await stopped;
      await cluster.worker({ blocks: [second.executor] });
      expect(await run.result()).toMatchObject({ status: 'completed', output: { result: 2 } });
      expect([first.aborted, second.calls]).toEqual([[], []]);
    });

    it('cancels blocks after the grace period and reports finished work, so that other workers continue immediately', async () => {
      const [first, second] = [new Script(), new Script({ A: () => ({ output: { n: 7 } }) })];
      const cluster = createCluster(server);
      const engine = await cluster.engine({ blocks: [first.executor] });
      const stoppingWorker = await cluster.worker({ blocks: [first.executor] });
      const run = await engine.start({ workflow: twoSteps });
      await first.nextCall('A');
      await cluster.worker({ blocks: [second.executor] });
      await stoppingWorker.stop({ drainMs: 0 });
      expect(await run.result()).toMatchObject({ status: 'completed', output: { result: 8 } });
      expect([first.aborted, first.calls, second.calls]).toEqual([['A'], ['A'], ['A']]);
    });

    it('abandons blocks that do not stop, and another worker continues the run', async () => {
      const second = new Script({ A: () => ({ output: { n: 7 } }) });
      const cluster = createCluster(server);
      const engine = await cluster.engine({ blocks: [unresponsive] });
      const hangingWorker = await cluster.worker({ blocks: [unresponsive] });
      const run = await engine.start({ workflow: twoSteps });
      await expect.poll(() => hangingWorker.status().activities, POLL).toBe(1);
      await cluster.worker({ blocks: [second.executor] });
      await hangingWorker.stop({ drainMs: 0, killMs: 100 });
      await hangingWorker.finished;
      expect(hangingWorker.status()).toMatchObject({ state: 'stopped' });
      expect(await run.result()).toMatchObject({ status: 'completed', output: { result: 8 } });
    });

    it('can be stopped twice', async () => {
      const worker = await createCluster(server).worker();
      await Promise.all([worker.stop(), worker.stop({ drainMs: 0 })]);
      await worker.stop();
      expect(worker.status().state).toBe('stopped');
    });
  });

  describe('with an HTTP endpoint', () => {
    it('serves its state and its counters over HTTP', async () => {
      const script = new Script();
      const cluster = createCluster(server);
      const engine = await cluster.engine({ blocks: [script.executor] });
      const worker = await cluster.worker({ blocks: [script.executor], http: { port: 0 } });
      const { url = '' } = worker;
      expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
      expect(await get(`${url}/healthz`)).toEqual({ status: 200, text: 'polling\n' });
      expect((await get(`${url}/`)).status).toBe(404);
      const run = await engine.start({ workflow: twoSteps });
      const call = await script.nextCall('A');
      const { text } = await get(`${url}/metrics`);
      expect(text).toMatch(/^heddle_worker_state\{state="polling"\} 1$/m);
      expect(text).toMatch(/^heddle_activities_running 1$/m);
      const stopped = worker.stop({ drainMs: 30_000 });
      expect(await get(`${url}/healthz`)).toEqual({ status: 503, text: 'draining\n' });
      call.done({ n: 1 });
      await stopped;
      await expect(get(`${url}/healthz`)).rejects.toThrow(/fetch failed/);
      const nextWorker = await cluster.worker({ blocks: [script.executor], http: { port: 0 } });
      await run.result();
      const done = /^heddle_tasks_total\{task="segment",type="",local="true",outcome="done"\} [1-9]\d*$/m;
      expect((await get(`${nextWorker.url}/metrics`)).text).toMatch(done);
    });

    it('cannot start if the port is in use', async () => {
      const portOwner = createServer().listen(0, '127.0.0.1');
      onTestFinished(() => void portOwner.close());
      await once(portOwner, 'listening');
      const { port } = portOwner.address() as AddressInfo;
      await expect(createCluster(server).worker({ http: { port } })).rejects.toMatchObject({
        code: 'OPTIONS_INVALID',
        message: expect.stringContaining(`127.0.0.1:${port}`) as string,
      });
    });
  });

  it('reports an invalid setting of one role even if the worker of another role exists already', async () => {
    const tuning = { roles: ['effects', 'engine'], cachedWorkflows: 1 } as const;
    const failure = {
      code: 'OPTIONS_INVALID',
      message: expect.stringContaining('cachedWorkflows') as string,
    };
    await expect(createCluster(server).engine({}, { worker: tuning })).rejects.toMatchObject(failure);
    await expect(createCluster(server).worker({ tuning })).rejects.toMatchObject(failure);
  });

  it('cannot have two executors for one block type', async () => {
    const blocks = [new Script().executor, new Script().executor];
    await expect(createCluster(server).worker({ blocks })).rejects.toMatchObject({
      code: 'EXECUTOR_DUPLICATE',
    });
  });
});
