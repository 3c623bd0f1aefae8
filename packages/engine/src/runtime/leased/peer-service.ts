import type { Clock, Json } from '@heddle/core';
import { repeat } from '../../clock.ts';
import { ControlServer } from '../../store/control.ts';
import type { ControlRequest, RequestStore } from '../../store/control.ts';
import { isHeldByAnother } from '../../store/leases.ts';
import type { LeaseStore } from '../../store/leases.ts';
import { executeControlRequest } from '../local/control.ts';
import type { LocalDependencies } from '../local/local-runtime.ts';
import type { LeasedRunOwnership } from './leased-ownership.ts';
import type { Membership } from './membership.ts';

/** Interval between polls for requests of other processes. */
const REQUEST_POLL_MS = 250;
/** Interval between sweeps for runs without an owner. */
const SWEEP_INTERVAL_MS = 1000;
/** Maximum number of runs in one claim. */
const CLAIM_LIMIT = 32;

interface PeerServiceOptions {
  localDependencies: LocalDependencies;
  leases: LeaseStore;
  requests: RequestStore;
  membership: Membership;
  ownership: LeasedRunOwnership;
  clock: Clock;
  /** True if this process takes over runs without an owner. */
  recover: boolean;
  onError: (error: unknown) => void;
}

/** Serves the requests of other processes, and takes over the runs of processes that have died. */
export class PeerService {
  readonly #options: PeerServiceOptions;
  readonly #stopFunctions: (() => Promise<void>)[] = [];
  readonly #server: ControlServer;

  constructor(options: PeerServiceOptions) {
    this.#options = options;
    const { requests, onError } = options;
    this.#server = new ControlServer({
      requests,
      onError,
      handle: (request) => this.#serve(request),
    });
  }

  /**
   * Resolves once this process has recovered its share of the runs without an owner. Throws the errors of the database.
   */
  async start(): Promise<void> {
    const { clock, recover, requests, onError } = this.#options;
    await requests.prune();
    if (recover) {
      await this.#sweep();
      this.#stopFunctions.push(repeat(clock, SWEEP_INTERVAL_MS, () => this.#sweep(), onError));
    }
    this.#stopFunctions.push(repeat(clock, REQUEST_POLL_MS, () => this.#poll(), onError));
  }

  /** Stops polls and sweeps. Resolves when the current ones have ended. */
  async stop(): Promise<void> {
    await Promise.all(this.#stopFunctions.splice(0).map((stop) => stop()));
    await this.#server.stop();
  }

  /**
   * Executes the request. Returns undefined if another process has become the owner of the run: that process executes
   * the request.
   */
  async #serve(request: ControlRequest): Promise<Json | undefined> {
    try {
      return await executeControlRequest(this.#options.localDependencies, request);
    } catch (error) {
      if (isHeldByAnother(error)) return undefined;
      throw error;
    }
  }

  async #poll(): Promise<void> {
    const { membership, localDependencies } = this.#options;
    localDependencies.runs.evictIdle();
    if (membership.owner !== undefined) await this.#server.check(membership.owner);
  }

  async #sweep(): Promise<void> {
    const { leases, ownership, localDependencies } = this.#options;
    await leases.removeExpiredOwners();
    for (;;) {
      const claimedRunIds = await ownership.claim(CLAIM_LIMIT);
      if (claimedRunIds.length === 0) return;
      // Requests are served first, so that a run with a cancel request executes nothing.
      await this.#poll();
      for (const runId of claimedRunIds) await localDependencies.runs.recover(runId);
    }
  }
}
