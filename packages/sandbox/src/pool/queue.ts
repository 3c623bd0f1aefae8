import type { Job } from './job.ts';

/** Waiting jobs, first come first served within a tenant, tenants in turn. */
export class FairQueue {
  readonly #tenants = new Map<string, Job[]>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** How many jobs of the tenant wait. */
  sizeOf(tenant: string): number {
    return this.#tenants.get(tenant)?.length ?? 0;
  }

  add(job: Job): void {
    this.#of(job.tenant).push(job);
    this.#size++;
  }

  /** Puts jobs back before all others of their tenant. */
  putBack(jobs: readonly Job[]): void {
    for (const job of [...jobs].reverse()) {
      this.#of(job.tenant).unshift(job);
      this.#size++;
    }
  }

  remove(job: Job): boolean {
    const jobs = this.#tenants.get(job.tenant);
    const at = jobs?.indexOf(job) ?? -1;
    if (jobs === undefined || at < 0) return false;
    jobs.splice(at, 1);
    this.#took(job.tenant, jobs);
    return true;
  }

  /** Tenants with waiting jobs, the longest unserved first. */
  tenants(): string[] {
    return [...this.#tenants.keys()];
  }

  /** The jobs that have waited since before a time. */
  waitingSince(ms: number): Job[] {
    return [...this.#tenants.values()].flatMap((jobs) => jobs.filter((job) => job.queuedAtMs <= ms));
  }

  peek(tenant: string): Job | undefined {
    return this.#tenants.get(tenant)?.[0];
  }

  /** Takes the tenant's first job and moves the tenant behind the others. */
  take(tenant: string): Job | undefined {
    const jobs = this.#tenants.get(tenant);
    const job = jobs?.shift();
    if (jobs === undefined || job === undefined) return undefined;
    this.#tenants.delete(tenant);
    if (jobs.length > 0) this.#tenants.set(tenant, jobs);
    this.#size--;
    return job;
  }

  #of(tenant: string): Job[] {
    let jobs = this.#tenants.get(tenant);
    if (jobs === undefined) this.#tenants.set(tenant, (jobs = []));
    return jobs;
  }

  #took(tenant: string, jobs: Job[]): void {
    this.#size--;
    if (jobs.length === 0) this.#tenants.delete(tenant);
  }
}
