import type { Job } from './job.ts';

/** Maximum number of waiting jobs, over all tenants and per tenant. */
interface QueueLimits {
  readonly maxQueued: number;
  readonly maxQueuedPerTenant: number;
}

/** A queue of jobs: first in, first out per pool key. The keys of a tenant take turns, and so do tenants. */
export class FairQueue {
  /** The waiting jobs by tenant and pool key. */
  readonly #queuesByTenant = new Map<string, Map<string, Job[]>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Returns how many jobs of the tenant wait. */
  sizeOf(tenant: string): number {
    let size = 0;
    for (const jobs of this.#queuesByTenant.get(tenant)?.values() ?? []) size += jobs.length;
    return size;
  }

  /** Returns why the job cannot be queued; undefined if it can. */
  refusalOf(
    { tenant }: Pick<Job, 'tenant'>,
    { maxQueued, maxQueuedPerTenant }: QueueLimits,
  ): string | undefined {
    const waitingCount = this.sizeOf(tenant);
    if (waitingCount >= maxQueuedPerTenant)
      return `The sandbox has ${waitingCount} jobs of this tenant waiting and accepts no more; retry later or raise maxQueuedPerTenant.`;
    if (this.#size < maxQueued) return undefined;
    return `The sandbox has ${this.#size} jobs waiting and accepts no more; retry later or raise maxQueued.`;
  }

  add(job: Job): void {
    this.#queueOf(job).push(job);
    this.#size++;
  }

  /** Returns jobs to the front of their pool key's queue. */
  putBack(jobs: readonly Job[]): void {
    for (const job of [...jobs].reverse()) {
      this.#queueOf(job).unshift(job);
      this.#size++;
    }
  }

  /** Removes a job. Returns whether it was queued. */
  remove(job: Job): boolean {
    const jobs = this.#queuesByTenant.get(job.tenant)?.get(job.poolKey);
    const index = jobs?.indexOf(job) ?? -1;
    if (jobs === undefined || index < 0) return false;
    jobs.splice(index, 1);
    this.#size--;
    if (jobs.length === 0) this.#dropKey(job);
    return true;
  }

  allJobs(): Job[] {
    return [...this.#queuesByTenant.values()].flatMap((queues) => [...queues.values()].flat());
  }

  /** Returns the jobs of a pool key. */
  jobsOfKey({ tenant, poolKey }: Pick<Job, 'tenant' | 'poolKey'>): Job[] {
    return [...(this.#queuesByTenant.get(tenant)?.get(poolKey) ?? [])];
  }

  /** Returns the tenants with waiting jobs, the one served longest ago first. */
  tenants(): string[] {
    return [...this.#queuesByTenant.keys()];
  }

  /** Returns the jobs that were queued at `timeMs` or earlier. */
  jobsWaitingSince(timeMs: number): Job[] {
    return this.allJobs().filter((job) => job.queuedAtMs <= timeMs);
  }

  /** Returns the first job of each of the tenant's pool keys, beginning with the key that was served longest ago. */
  heads(tenant: string): Job[] {
    return [...(this.#queuesByTenant.get(tenant)?.values() ?? [])].map((jobs) => jobs[0] as Job);
  }

  /** Removes a job that is the first of its pool key, and moves its tenant and its key to the end. */
  take(job: Job): void {
    if (!this.remove(job)) return;
    const queues = this.#queuesByTenant.get(job.tenant);
    if (queues === undefined) return;
    this.#queuesByTenant.delete(job.tenant);
    this.#queuesByTenant.set(job.tenant, queues);
    const jobs = queues.get(job.poolKey);
    if (jobs === undefined) return;
    queues.delete(job.poolKey);
    queues.set(job.poolKey, jobs);
  }

  #queueOf({ tenant, poolKey }: Job): Job[] {
    let queues = this.#queuesByTenant.get(tenant);
    if (queues === undefined) this.#queuesByTenant.set(tenant, (queues = new Map()));
    let jobs = queues.get(poolKey);
    if (jobs === undefined) queues.set(poolKey, (jobs = []));
    return jobs;
  }

  #dropKey({ tenant, poolKey }: Job): void {
    const queues = this.#queuesByTenant.get(tenant);
    queues?.delete(poolKey);
    if (queues?.size === 0) this.#queuesByTenant.delete(tenant);
  }
}
