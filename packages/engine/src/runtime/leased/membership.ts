import { randomUUID } from 'node:crypto';
import { EngineError } from '@heddle/core';
import type { Clock } from '@heddle/core';
import { repeat } from '../../clock.ts';
import type { LeaseStore } from '../../store/leases.ts';

export interface MembershipOptions {
  leases: LeaseStore;
  clock: Clock;
  /** Time without a heartbeat after which a process loses its runs. */
  leaseMs: number;
}

const RENEWAL_FAILED_REASON = 'it could not renew its lease in the database in time';
const LEASE_EXPIRED_REASON = 'the database received no heartbeat for the duration of a lease';

/** Number of heartbeats during one lease. */
const HEARTBEATS_PER_LEASE = 3;

/**
 * The membership of this process among those that share a database: joins, sends heartbeats, and detects that its lease
 * has expired.
 *
 * Other processes detect the expiry by the database's clock. This process measures the lease by its own clock, from the
 * time at which it sent the renewal, not from the response. Therefore it stops its runs before other processes take
 * them over, even if the response was late.
 */
export class Membership {
  readonly #options: MembershipOptions;
  #onLost: (reason: string) => void = () => undefined;
  /** Id of the process. It changes after each loss, so that leases of an earlier membership are never valid again. */
  #id = randomUUID() as string;
  #hasJoined = false;
  #hasEnded = false;
  #joining: Promise<string> | undefined;
  #expiresAtMs = 0;
  /** Ids of earlier memberships that are still in the database. */
  readonly #formerIds = new Set<string>();
  #cancelExpiry = (): void => undefined;
  #stopHeartbeats: () => Promise<void> = () => Promise.resolve();

  constructor(options: MembershipOptions) {
    this.#options = options;
  }

  /** The id under which the process may own runs now; undefined: it owns none. */
  get owner(): string | undefined {
    return this.#hasJoined ? this.#id : undefined;
  }

  /**
   * Joins and starts heartbeats. `onLost` is called when this process has lost all its runs. Throws the errors of the
   * database.
   */
  async begin(onLost: (reason: string) => void): Promise<void> {
    this.#onLost = onLost;
    const { clock, leaseMs } = this.#options;
    await this.ensureMember();
    this.#stopHeartbeats = repeat(
      clock,
      leaseMs / HEARTBEATS_PER_LEASE,
      () => this.#sendHeartbeat(),
      // A failed heartbeat has no effect before the lease expires, and the expiry is reported.
      () => undefined,
    );
  }

  /** Leaves, so that other processes can take over all runs of this process. */
  async end(): Promise<void> {
    this.#hasEnded = true;
    this.#cancelExpiry();
    await this.#stopHeartbeats();
    await this.#joining?.catch(() => undefined);
    this.#retire();
    await this.#removeFormerIds();
  }

  /** Detects an expired lease without waiting for the timer, which may be late after the process was frozen. */
  checkExpiry(): void {
    if (this.#hasJoined && this.#options.clock.now() >= this.#expiresAtMs) this.#lose(RENEWAL_FAILED_REASON);
  }

  /**
   * Resolves with the owner id once the process may own runs. `removedId`: an id that the database no longer accepts.
   * Throws the errors of the database.
   */
  ensureMember(removedId?: string): Promise<string> {
    if (this.#hasEnded)
      return Promise.reject(
        new EngineError('ENGINE_CLOSED', 'The engine is closed and accepts no more work.'),
      );
    if (removedId !== undefined && removedId === this.owner) this.#lose(LEASE_EXPIRED_REASON);
    if (this.#hasJoined) return Promise.resolve(this.#id);
    this.#joining ??= this.#join().finally(() => (this.#joining = undefined));
    return this.#joining;
  }

  async #sendHeartbeat(): Promise<void> {
    const { leases, clock, leaseMs } = this.#options;
    const { owner } = this;
    if (owner !== undefined) {
      const requestedAtMs = clock.now();
      const isRenewed = await leases.renew(owner, leaseMs);
      if (owner === this.owner && isRenewed) return this.#extend(requestedAtMs);
    }
    await this.ensureMember(owner);
  }

  async #join(): Promise<string> {
    const { leases, clock, leaseMs } = this.#options;
    await this.#removeFormerIds();
    const requestedAtMs = clock.now();
    await leases.join(this.#id, leaseMs);
    this.#hasJoined = true;
    this.#extend(requestedAtMs);
    return this.#id;
  }

  #extend(requestedAtMs: number): void {
    const { clock, leaseMs } = this.#options;
    this.#cancelExpiry();
    this.#expiresAtMs = requestedAtMs + leaseMs;
    this.#cancelExpiry = clock.at(this.#expiresAtMs, () => this.#lose(RENEWAL_FAILED_REASON));
  }

  #lose(reason: string): void {
    if (!this.#hasJoined) return;
    this.#cancelExpiry();
    this.#retire();
    this.#onLost(
      `This process has lost its runs: ${reason}. Other processes continue them, and this process joins again once it reaches the database.`,
    );
  }

  #retire(): void {
    this.#formerIds.add(this.#id);
    this.#id = randomUUID();
    this.#hasJoined = false;
  }

  /** Removes earlier memberships, so that other processes need not wait for their expiry. */
  async #removeFormerIds(): Promise<void> {
    for (const id of this.#formerIds) {
      await this.#options.leases.leave(id);
      this.#formerIds.delete(id);
    }
  }
}
