import type { Job } from './job.ts';

/** Maximum number of waiting jobs, over all tenants and per tenant. */
interface QueueBounds {
  readonly maxQueued: number;
  readonly maxQueuedPerTenant: number;
}

/** A queue of jobs: first in, first out per pool key. The keys of a tenant take turns, and so do tenants. */
export class FairQueue {
  readonly #tenants = new Map<string, Map<string, Job[]>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Returns how many jobs of the tenant wait. */
  sizeOf(tenant: string): number {
    let size = 0;
    for (const jobs of this.#tenants.get(tenant)?.values() ?? []) size += jobs.length;
    return size;
  }

  /** Returns why the job cannot be queued, or undefined. */
  refusalOf(
    { tenant }: Pick<Job, 'tenant'>,
    { maxQueued, maxQueuedPerTenant }: QueueBounds,
  ): string | undefined {
    const waiting = this.sizeOf(tenant);
    if (waiting >= maxQueuedPerTenant)
      return `The sandbox has ${waiting} jobs of this tenant waiting and accepts no more; retry later or raise maxQueuedPerTenant.`;
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

  remove(job: Job): boolean {
    const jobs = this.#tenants.get(job.tenant)?.get(job.poolKey);
    const index = jobs?.indexOf(job) ?? -1;
    if (jobs === undefined || index < 0) return false;
    jobs.splice(index, 1);
    this.#size--;
    if (jobs.length === 0) this.#dropKey(job);
    return true;
  }

  all(): Job[] {
    return [...this.#tenants.values()].flatMap((keys) => [...keys.values()].flat());
  }

  /** Returns the jobs of a pool key. */
  ofKey({ tenant, poolKey }: Pick<Job, 'tenant' | 'poolKey'>): Job[] {
    return [...(this.#tenants.get(tenant)?.get(poolKey) ?? [])];
  }

  /** Returns the tenants with waiting jobs, the one served longest ago first. */
  tenants(): string[] {
    return [...this.#tenants.keys()];
  }

  /** Returns the jobs that have waited since `ms` or longer. */
  waitingSince(ms: number): Job[] {
    return this.all().filter((job) => job.queuedAtMs <= ms);
  }

  /** Returns the first job of each of the tenant's pool keys, beginning with the key that was served longest ago. */
  heads(tenant: string): Job[] {
    return [...(this.#tenants.get(tenant)?.values() ?? [])].map((jobs) => jobs[0] as Job);
  }

  /** Removes the first job of a pool key, and moves its tenant and its key to the end. */
  take(job: Job): void {
    if (!this.remove(job)) return;
    const keys = this.#tenants.get(job.tenant);
    if (keys === undefined) return;
    this.#tenants.delete(job.tenant);
    this.#tenants.set(job.tenant, keys);
    const jobs = keys.get(job.poolKey);
    if (jobs === undefined) return;
    keys.delete(job.poolKey);
    keys.set(job.poolKey, jobs);
  }

  #queueOf({ tenant, poolKey }: Job): Job[] {
    let keys = this.#tenants.get(tenant);
    if (keys === undefined) this.#tenants.set(tenant, (keys = new Map()));
    let jobs = keys.get(poolKey);
    if (jobs === undefined) keys.set(poolKey, (jobs = []));
    return jobs;
  }

  #dropKey({ tenant, poolKey }: Job): void {
    const keys = this.#tenants.get(tenant);
    keys?.delete(poolKey);
    if (keys?.size === 0) this.#tenants.delete(tenant);
  }
}
