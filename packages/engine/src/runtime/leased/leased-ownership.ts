import type { Clock, Entry, RunHeader, RunRecord } from '@heddle/core';
import { runHeldByAnother, ProcessRemovedError } from '../../store/leases.ts';
import type { Lease, LeaseStore } from '../../store/leases.ts';
import type { TailableRunStore } from '../../store/stores.ts';
import type { RunOwnership } from '../local/run-ownership.ts';
import type { Membership } from './membership.ts';

/** First delay before a failed run is recovered again. The delay doubles each time, up to the maximum. */
const FIRST_RETRY_MS = 1000;
const MAX_RETRY_MS = 300_000;

interface OwnershipOptions {
  leases: LeaseStore;
  membership: Membership;
  clock: Clock;
  onError: (error: unknown, runId: string) => void;
}

interface Retry {
  count: number;
  cancel(): void;
}

/** Owns runs through the leases that this process holds. */
export class LeasedRunOwnership implements RunOwnership {
  readonly isShared = true;
  readonly #options: OwnershipOptions;
  readonly #leases = new Map<string, Lease>();
  /** Claimed runs that are not recovered yet. */
  readonly #claimedRunIds = new Set<string>();
  readonly #retries = new Map<string, Retry>();

  constructor(options: OwnershipOptions) {
    this.#options = options;
  }

  async create(
    header: RunHeader,
    firstEntry: Entry,
    record: RunRecord,
  ): Promise<TailableRunStore | undefined> {
    const lease = await this.#asMember((owner) =>
      this.#options.leases.create(owner, header, firstEntry, record),
    );
    return lease && this.#hold(lease);
  }

  async acquire(runId: string): Promise<TailableRunStore> {
    if (this.#claimedRunIds.delete(runId)) return this.writableStore(runId);
    const lease = await this.#asMember((owner) => this.#options.leases.acquire(owner, runId));
    if (!lease) throw runHeldByAnother(runId);
    return this.#hold(lease);
  }

  writableStore(runId: string): TailableRunStore {
    const lease = this.#leases.get(runId);
    if (!lease) throw runHeldByAnother(runId);
    return this.#options.leases.runStore(lease);
  }

  /** Claims this process's share of the runs without an owner, at most `limit`, and returns their ids. */
  async claim(limit: number): Promise<string[]> {
    const leases = await this.#asMember((owner) => this.#options.leases.claim(owner, limit));
    for (const lease of leases) {
      this.#hold(lease);
      this.#claimedRunIds.add(lease.runId);
    }
    return leases.map(({ runId }) => runId);
  }

  onEvicted(runId: string): void {
    const lease = this.#leases.get(runId);
    this.forget(runId);
    // If this fails, the process keeps the lease and acquires the run when it is needed.
    if (lease)
      this.#options.leases.release(lease).catch((error: unknown) => this.#options.onError(error, runId));
  }

  forget(runId: string): void {
    this.#leases.delete(runId);
    this.#claimedRunIds.delete(runId);
    this.#retries.get(runId)?.cancel();
    this.#retries.delete(runId);
  }

  /** Schedules the next recovery of a run that this process still owns. */
  onFailure(runId: string, recover: () => void): void {
    if (!this.#leases.has(runId)) return;
    const { clock } = this.#options;
    const count = this.#retries.get(runId)?.count ?? 0;
    const delayMs = Math.min(MAX_RETRY_MS, FIRST_RETRY_MS * 2 ** count);
    const cancel = clock.at(clock.now() + delayMs, recover);
    this.#retries.get(runId)?.cancel();
    this.#retries.set(runId, { count: count + 1, cancel });
  }

  checkOwnership(): void {
    this.#options.membership.checkExpiry();
  }

  forgetAll(): void {
    for (const runId of [...this.#leases.keys()]) this.forget(runId);
  }

  #hold(lease: Lease): TailableRunStore {
    this.#leases.set(lease.runId, lease);
    return this.#options.leases.runStore(lease);
  }

  /**
   * Calls `work` with the owner id of this process. If the database has removed the process, joins again and repeats
   * the call once.
   */
  async #asMember<T>(work: (owner: string) => Promise<T>): Promise<T> {
    const { membership } = this.#options;
    const owner = await membership.ensureMember();
    try {
      return await work(owner);
    } catch (error) {
      if (!(error instanceof ProcessRemovedError)) throw error;
      return work(await membership.ensureMember(owner));
    }
  }
}
