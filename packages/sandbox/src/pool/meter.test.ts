import { expect, it } from 'vitest';
import { createSandbox } from '../index.ts';

it('a pool measures waiting times, starts, jobs and memory, and counts ended processes by reason', async () => {
  const sandbox = createSandbox({ maxProcesses: 1, recycle: { jobs: 2 } });
  for (let job = 0; job < 4; job++) await sandbox.run({ runId: 'r', code: 'return 1' });
  await expect.poll(() => sandbox.stats().processes).toBe(0);
  const { javascript, python } = sandbox.stats().metrics;
  for (const [durations, count] of [
    [javascript.queue, 4],
    [javascript.start, 2],
    [javascript.cpu, 4],
    [javascript.wall, 4],
  ] as const) {
    expect(durations.count).toBe(count);
    expect(durations.maxMs).toBeGreaterThan(0);
    expect(durations.totalMs).toBeGreaterThanOrEqual(durations.maxMs);
  }
  expect(javascript.peakRssMiB).toBeGreaterThan(10);
  expect(javascript.ended).toEqual({ jobs: 2 });
  expect(python.queue.count).toBe(0);
  await sandbox.close();
});
