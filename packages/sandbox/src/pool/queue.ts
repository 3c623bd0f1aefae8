import type { Job } from './job.ts';

/** How many jobs may wait, over all tenants and of one. */
interface QueueBounds {
  readonly maxQueued: number;
  readonly maxQueuedPerTenant: number;
}

/** Waiting jobs: first come first served within a lane, the lanes of a tenant in turn, tenants in turn. */
export class FairQueue {
  readonly #tenants = new Map<string, Map<string, Job[]>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** How many jobs of the tenant wait. */
  sizeOf(tenant: string): number {
    let size = 0;
    for (const jobs of this.#tenants.get(tenant)?.values() ?? []) size += jobs.length;
    return size;
  }

  /** Why the job cannot wait too, or null. */
  refusalOf({ tenant }: Pick<Job, 'tenant'>, { maxQueued, maxQueuedPerTenant }: QueueBounds): string | null {
    const own = this.sizeOf(tenant);
    if (own >= maxQueuedPerTenant)
      return `The sandbox has ${own} jobs of this tenant waiting and takes no more of them; try again later or raise maxQueuedPerTenant.`;
    if (this.#size < maxQueued) return null;
    return `The sandbox has ${this.#size} jobs waiting and takes no more; try again later or raise maxQueued.`;
  }

  add(job: Job): void {
    this.#laneOf(job).push(job);
    this.#size++;
  }

  /** Puts jobs back before all others of their lane. */
  putBack(jobs: readonly Job[]): void {
    for (const job of [...jobs].reverse()) {
      this.#laneOf(job).unshift(job);
      this.#size++;
    }
  }

  remove(job: Job): boolean {
    const jobs = this.#tenants.get(job.tenant)?.get(job.lane);
    const at = jobs?.indexOf(job) ?? -1;
    if (jobs === undefined || at < 0) return false;
    jobs.splice(at, 1);
    this.#size--;
    if (jobs.length === 0) this.#dropLane(job);
    return true;
  }

  all(): Job[] {
    return [...this.#tenants.values()].flatMap((lanes) => [...lanes.values()].flat());
  }

  /** The jobs of a lane. */
  ofLane({ tenant, lane }: Pick<Job, 'tenant' | 'lane'>): Job[] {
    return [...(this.#tenants.get(tenant)?.get(lane) ?? [])];
  }

  /** Tenants with waiting jobs, the longest unserved first. */
  tenants(): string[] {
    return [...this.#tenants.keys()];
  }

  /** The jobs that have waited since before a time. */
  waitingSince(ms: number): Job[] {
    return this.all().filter((job) => job.queuedAtMs <= ms);
  }

  /** The first job of each of the tenant's lanes, the longest unserved lane first. */
  heads(tenant: string): Job[] {
    return [...(this.#tenants.get(tenant)?.values() ?? [])].map((jobs) => jobs[0] as Job);
  }

  /** Takes a first job of its lane out and moves tenant and lane behind the others. */
  take(job: Job): void {
    if (!this.remove(job)) return;
    const lanes = this.#tenants.get(job.tenant);
    if (lanes === undefined) return;
    this.#tenants.delete(job.tenant);
    this.#tenants.set(job.tenant, lanes);
    const rest = lanes.get(job.lane);
    if (rest === undefined) return;
    lanes.delete(job.lane);
    lanes.set(job.lane, rest);
  }

  #laneOf({ tenant, lane }: Job): Job[] {
    let lanes = this.#tenants.get(tenant);
    if (lanes === undefined) this.#tenants.set(tenant, (lanes = new Map()));
    let jobs = lanes.get(lane);
    if (jobs === undefined) lanes.set(lane, (jobs = []));
    return jobs;
  }

  #dropLane({ tenant, lane }: Job): void {
    const lanes = this.#tenants.get(tenant);
    lanes?.delete(lane);
    if (lanes?.size === 0) this.#tenants.delete(tenant);
  }
}
