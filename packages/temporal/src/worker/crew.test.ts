import type { WorkerStatus } from '@temporalio/worker';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Crew } from './crew.ts';
import { Meter } from './meter.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A worker as the SDK has it: told to shut down, it waits for what it runs. */
class Fake {
  state: ReturnType<Crew['statuses']>[number]['runState'] = 'RUNNING';
  private readonly ended = Promise.withResolvers<void>();
  private readonly hangs: boolean;

  constructor({ hangs = false } = {}) {
    this.hangs = hangs;
  }

  run(): Promise<void> {
    return this.ended.promise;
  }

  shutdown(): void {
    this.state = 'DRAINING';
    if (!this.hangs) this.ended.resolve();
  }

  fail(error: Error): void {
    this.state = 'FAILED';
    this.ended.reject(error);
  }

  getState(): Fake['state'] {
    return this.state;
  }

  getStatus(): WorkerStatus {
    throw new Error('nobody asks');
  }
}

function crewOf(...workers: Fake[]): { crew: Crew; leaving: AbortController } {
  const leaving = new AbortController();
  return { crew: new Crew(workers, { leaving, meter: new Meter(), roles: ['engine'] }), leaving };
}

it('a worker that fails stops the others, and whoever waits is told why', async () => {
  const [one, other] = [new Fake(), new Fake()];
  const { crew } = crewOf(one, other);
  expect(crew.polling).toBe(true);
  one.fail(new Error('no route to host'));
  await expect(crew.finished).rejects.toThrow('no route to host');
  expect([crew.polling, other.state]).toEqual([false, 'DRAINING']);
});

it('a worker that has failed is told of in the end, also where another one hangs', async () => {
  const [one, other] = [new Fake(), new Fake({ hangs: true })];
  const { crew, leaving } = crewOf(one, other);
  one.fail(new Error('no route to host'));
  await vi.advanceTimersByTimeAsync(6000);
  expect(leaving.signal.aborted).toBe(true);
  await vi.advanceTimersByTimeAsync(6000);
  await expect(crew.finished).rejects.toThrow('no route to host');
});

it('a worker that the SDK has stopped, and that waits for a block that never ends, is noticed and left', async () => {
  const worker = new Fake({ hangs: true });
  const { crew } = crewOf(worker);
  worker.state = 'STOPPING';
  await vi.advanceTimersByTimeAsync(12_000);
  expect(await crew.finished).toBe(true);
  expect(crew.polling).toBe(false);
});

it('one that is stopped lets blocks finish, aborts them, and leaves what hangs, each at its time', async () => {
  const { crew, leaving } = crewOf(new Fake({ hangs: true }));
  const stopped = crew.stop({ drainMs: 2000, killMs: 1000 });
  await vi.advanceTimersByTimeAsync(1900);
  expect(leaving.signal.aborted).toBe(false);
  await vi.advanceTimersByTimeAsync(200);
  expect(leaving.signal.aborted).toBe(true);
  await vi.advanceTimersByTimeAsync(1000);
  expect(await stopped).toBe(true);
});

it('one whose blocks have ended is stopped at once, and aborts nothing later', async () => {
  const { crew, leaving } = crewOf(new Fake(), new Fake());
  expect(await crew.stop({ drainMs: 2000, killMs: 1000 })).toBe(false);
  await vi.advanceTimersByTimeAsync(5000);
  expect(leaving.signal.aborted).toBe(false);
});
