import type { Clock, Entry, NewRun, RunRecord } from '@heddle/core';
import type { Tenure } from '../local/run-ownership.ts';
import { heldByOther, ProcessRemoved } from '../../store/leases.ts';
import type { Lease, LeaseStore } from '../../store/leases.ts';
import type { TailableRunStore } from '../../store/stores.ts';
import type { Membership } from './membership.ts';

/** A run that has stumbled is tried again after this time, twice as long each time, and this long at most. */
const FIRST_RETRY_MS = 1000;
const MOST_RETRY_MS = 300_000;

interface TenureParts {
  leases: LeaseStore;
  membership: Membership;
  clock: Clock;
  /** Takes a run up again. */
  retry: (runId: string) => void;
  report: (error: unknown, runId: string) => void;
}

interface Stumbles {
  times: number;
  cancel(): void;
}

/** The leases of this process. */
export class LeasedTenure implements Tenure {
  readonly shared = true;
  private readonly parts: TenureParts;
  private readonly held = new Map<string, Lease>();
  /** Taken in a sweep, and not yet taken up. */
  private readonly claimed = new Set<string>();
  private readonly stumbles = new Map<string, Stumbles>();

  constructor(parts: TenureParts) {
    this.parts = parts;
  }

  async create(run: NewRun, first: Entry, record: RunRecord): Promise<TailableRunStore | undefined> {
    const lease = await this.asMember((owner) => this.parts.leases.create(owner, run, first, record));
    return lease && this.hold(lease);
  }

  async take(runId: string): Promise<TailableRunStore> {
    if (this.claimed.delete(runId)) return this.writer(runId);
    const lease = await this.asMember((owner) => this.parts.leases.acquire(owner, runId));
    if (!lease) throw heldByOther(runId);
    return this.hold(lease);
  }

  writer(runId: string): TailableRunStore {
    const lease = this.held.get(runId);
    if (!lease) throw heldByOther(runId);
    return this.parts.leases.runStore(lease);
  }

  /** Ids of free runs that are this process's from now on: its share, `most` at most. */
  async claim(most: number): Promise<string[]> {
    const leases = await this.asMember((owner) => this.parts.leases.claim(owner, most));
    for (const lease of leases) {
      this.hold(lease);
      this.claimed.add(lease.runId);
    }
    return leases.map(({ runId }) => runId);
  }

  rest(runId: string): void {
    const lease = this.held.get(runId);
    this.forget(runId);
    // Where that fails the process goes on holding it, and takes it when it is wanted.
    if (lease) this.parts.leases.release(lease).catch((error: unknown) => this.parts.report(error, runId));
  }

  forget(runId: string): void {
    this.held.delete(runId);
    this.claimed.delete(runId);
    this.stumbles.get(runId)?.cancel();
    this.stumbles.delete(runId);
  }

  stumbled(runId: string): void {
    if (!this.held.has(runId)) return;
    const { clock, retry } = this.parts;
    const times = this.stumbles.get(runId)?.times ?? 0;
    const afterMs = Math.min(MOST_RETRY_MS, FIRST_RETRY_MS * 2 ** times);
    const cancel = clock.at(clock.now() + afterMs, () => retry(runId));
    this.stumbles.get(runId)?.cancel();
    this.stumbles.set(runId, { times: times + 1, cancel });
  }

  alert(): void {
    this.parts.membership.look();
  }

  /** Nothing is held any more. */
  drop(): void {
    for (const runId of [...this.held.keys()]) this.forget(runId);
  }

  private hold(lease: Lease): TailableRunStore {
    this.held.set(lease.runId, lease);
    return this.parts.leases.runStore(lease);
  }

  /** A process that was removed comes back once before it gives up. */
  private async asMember<T>(work: (owner: string) => Promise<T>): Promise<T> {
    const { membership } = this.parts;
    const owner = await membership.member();
    try {
      return await work(owner);
    } catch (error) {
      if (!(error instanceof ProcessRemoved)) throw error;
      return work(await membership.member(owner));
    }
  }
}
