import type { WorkerStatus } from '@temporalio/worker';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { WorkerGroup } from './worker-group.ts';
import { TaskMeter } from './task-meter.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Behaves like a worker of the SDK: on shutdown it waits for its activities. */
class FakeWorker {
  state: ReturnType<WorkerGroup['statuses']>[number]['runState'] = 'RUNNING';
  readonly #end = Promise.withResolvers<void>();
  readonly #hangs: boolean;

  constructor({ hangs = false } = {}) {
    this.#hangs = hangs;
  }

  run(): Promise<void> {
    return this.#end.promise;
  }

  shutdown(): void {
    this.state = 'DRAINING';
    if (!this.#hangs) this.#end.resolve();
  }

  fail(error: Error): void {
    this.state = 'FAILED';
    this.#end.reject(error);
  }

  getState(): FakeWorker['state'] {
    return this.state;
  }

  getStatus(): WorkerStatus {
    throw new Error('not used');
  }
}

function createGroup(...workers: FakeWorker[]): { group: WorkerGroup; shutdown: AbortController } {
  const shutdown = new AbortController();
  return {
    group: new WorkerGroup(workers, { shutdown, meter: new TaskMeter(), roles: ['engine'] }),
    shutdown,
  };
}

it('a failing worker stops the others, and `finished` rejects with its error', async () => {
  const [failingWorker, otherWorker] = [new FakeWorker(), new FakeWorker()];
  const { group } = createGroup(failingWorker, otherWorker);
  expect(group.isPolling).toBe(true);
  failingWorker.fail(new Error('no route to host'));
  await expect(group.finished).rejects.toThrow('no route to host');
  expect([group.isPolling, otherWorker.state]).toEqual([false, 'DRAINING']);
});

it('reports a failed worker even if another one hangs', async () => {
  const [failingWorker, otherWorker] = [new FakeWorker(), new FakeWorker({ hangs: true })];
  const { group, shutdown } = createGroup(failingWorker, otherWorker);
  failingWorker.fail(new Error('no route to host'));
  await vi.advanceTimersByTimeAsync(6000);
  expect(shutdown.signal.aborted).toBe(true);
  await vi.advanceTimersByTimeAsync(6000);
  await expect(group.finished).rejects.toThrow('no route to host');
});

it('detects and abandons a worker that the SDK has stopped and whose block never ends', async () => {
  const worker = new FakeWorker({ hangs: true });
  const { group } = createGroup(worker);
  worker.state = 'STOPPING';
  await vi.advanceTimersByTimeAsync(12_000);
  expect(await group.finished).toBe(true);
  expect(group.isPolling).toBe(false);
});

it('stop lets blocks finish, then aborts them, then abandons a hanging worker', async () => {
  const { group, shutdown } = createGroup(new FakeWorker({ hangs: true }));
  const stopPromise = group.stop({ drainMs: 2000, killMs: 1000 });
  await vi.advanceTimersByTimeAsync(1900);
  expect(shutdown.signal.aborted).toBe(false);
  await vi.advanceTimersByTimeAsync(200);
  expect(shutdown.signal.aborted).toBe(true);
  await vi.advanceTimersByTimeAsync(1000);
  expect(await stopPromise).toBe(true);
});

it('stop returns immediately if no block runs, and does not abort blocks later', async () => {
  const { group, shutdown } = createGroup(new FakeWorker(), new FakeWorker());
  expect(await group.stop({ drainMs: 2000, killMs: 1000 })).toBe(false);
  await vi.advanceTimersByTimeAsync(5000);
  expect(shutdown.signal.aborted).toBe(false);
});
