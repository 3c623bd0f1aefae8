import { describe, expect, it } from 'vitest';
import { resolveLimits } from '../limits.ts';
import { Job } from './job.ts';
import { FairQueue } from './queue.ts';

const jobOf = (tenant: string): Job =>
  new Job({ runId: 'r', tenant, mode: 'function', args: [], limits: resolveLimits() }, () => {});

function drain(queue: FairQueue): string {
  let order = '';
  for (let tenant = queue.tenants()[0]; tenant !== undefined; tenant = queue.tenants()[0])
    order += queue.take(tenant)?.tenant;
  return order;
}

describe('the fair queue', () => {
  it('serves tenants in turn, each in its own order', () => {
    const queue = new FairQueue();
    for (const tenant of ['a', 'a', 'a', 'b', 'c', 'c']) queue.add(jobOf(tenant));
    expect(queue.size).toBe(6);
    expect(drain(queue)).toBe('abcaca');
    expect(queue.size).toBe(0);
  });

  it('puts jobs back before others, in their order', () => {
    const queue = new FairQueue();
    const [first, second, third] = [jobOf('a'), jobOf('a'), jobOf('a')];
    queue.add(third);
    queue.putBack([first, second]);
    expect([queue.take('a'), queue.take('a'), queue.take('a')]).toEqual([first, second, third]);
  });

  it('removes a job once', () => {
    const queue = new FairQueue();
    const job = jobOf('a');
    queue.add(job);
    expect(queue.remove(job)).toBe(true);
    expect(queue.remove(job)).toBe(false);
    expect(queue.tenants()).toEqual([]);
  });
});
