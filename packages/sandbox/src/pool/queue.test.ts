import { describe, expect, it } from 'vitest';
import type { LoadedImage } from '../image.ts';
import { resolveLimits } from '../limits.ts';
import { Job } from './job.ts';
import { FairQueue } from './queue.ts';

const jobOf = (tenant: string, image?: string): Job =>
  new Job(
    {
      runId: 'r',
      tenant,
      mode: 'function',
      kind: 'function',
      args: [],
      limits: resolveLimits(),
      image: image === undefined ? undefined : ({ id: image } as LoadedImage),
    },
    () => {},
  );

function drain(queue: FairQueue): string {
  let order = '';
  for (let tenant = queue.tenants()[0]; tenant !== undefined; tenant = queue.tenants()[0]) {
    const job = queue.heads(tenant)[0] as Job;
    queue.take(job);
    order += job.tenant + (job.image?.id ?? '');
  }
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
    const takenJobs: (Job | undefined)[] = [];
    for (let i = 0; i < 3; i++) {
      const head = queue.heads('a')[0] as Job;
      queue.take(head);
      takenJobs.push(head);
    }
    expect(takenJobs).toEqual([first, second, third]);
  });

  it('serves the images of a tenant in turn, and a tenant with many images no more often than others', () => {
    const queue = new FairQueue();
    for (const image of ['1', '1', '2', '3']) queue.add(jobOf('a', image));
    for (const image of ['1', '1']) queue.add(jobOf('b', image));
    expect(queue.heads('a').map(({ image }) => image?.id)).toEqual(['1', '2', '3']);
    expect(drain(queue)).toBe('a1b1a2b1a3a1');
  });

  it('refuses jobs when it is full for one tenant or for all, and names the option', () => {
    const queue = new FairQueue();
    for (const tenant of ['a', 'a', 'b']) queue.add(jobOf(tenant));
    const limits = { maxQueued: 4, maxQueuedPerTenant: 2 };
    expect(queue.refusalOf({ tenant: 'b' }, limits)).toBeUndefined();
    expect(queue.refusalOf({ tenant: 'a' }, limits)).toMatch(/2 jobs of this tenant .*maxQueuedPerTenant\./);
    queue.add(jobOf('c'));
    expect(queue.refusalOf({ tenant: 'b' }, limits)).toMatch(/has 4 jobs waiting .*maxQueued\./);
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
