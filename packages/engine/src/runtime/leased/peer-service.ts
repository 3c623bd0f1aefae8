import type { Clock, Json } from '@heddle/core';
import { answer } from '../local/control.ts';
import type { LocalParts } from '../local/local-runtime.ts';
import { ControlServer } from '../../store/control.ts';
import type { ControlRequest } from '../../store/control.ts';
import { isHeldByOther } from '../../store/leases.ts';
import type { LeaseStore, RequestStore } from '../../store/leases.ts';
import type { LeasedTenure } from './leased-ownership.ts';
import type { Membership } from './membership.ts';
import { repeat } from './repeat.ts';

/** How often it is looked what other processes ask for. */
const REQUESTS_MS = 250;
/** How often it is looked for runs that nobody has. */
const SWEEP_MS = 1000;
/** Runs that are taken at once, at most. */
const SHARE = 32;

interface WatchParts {
  local: LocalParts;
  leases: LeaseStore;
  requests: RequestStore;
  membership: Membership;
  tenure: LeasedTenure;
  clock: Clock;
  /** Take runs that nobody has. */
  takeUp: boolean;
  report: (error: unknown) => void;
}

/** What a process does for the others: answers their requests, takes up what they leave behind. */
export class Watch {
  private readonly parts: WatchParts;
  private readonly stops: (() => Promise<void>)[] = [];
  private readonly service: ControlServer;
  private asked: ControlRequest[] = [];

  constructor(parts: WatchParts) {
    this.parts = parts;
    const { requests, report } = parts;
    const settle: RequestStore['settle'] = (id, outcome) => requests.settle(id, outcome);
    const table = { open: () => this.asked, settle, onError: report };
    this.service = new ControlServer(table, (request) => this.answered(request));
  }

  /** Resolves once this process's share of what nobody has is taken up. Throws what the database has against it. */
  async begin(): Promise<void> {
    const { clock, takeUp, requests, report } = this.parts;
    await requests.prune();
    if (takeUp) {
      await this.sweep();
      this.stops.push(repeat(clock, SWEEP_MS, () => this.sweep(), report));
    }
    this.stops.push(repeat(clock, REQUESTS_MS, () => this.look(), report));
  }

  /** Begins nothing more, and waits for what it has begun. */
  async end(): Promise<void> {
    await Promise.all(this.stops.splice(0).map((stop) => stop()));
    await this.service.stop();
  }

  /** Undefined: the run is another's by now, who finds the request. */
  private async answered(request: ControlRequest): Promise<Json | undefined> {
    try {
      return await answer(this.parts.local, request);
    } catch (error) {
      if (isHeldByOther(error)) return undefined;
      throw error;
    }
  }

  private async look(): Promise<void> {
    const { requests, membership, local } = this.parts;
    local.runtime.putAway();
    const { owner } = membership;
    if (owner === undefined) return;
    this.asked = await requests.pending(owner);
    this.service.check();
  }

  private async sweep(): Promise<void> {
    const { leases, tenure, local } = this.parts;
    await leases.expireOwners();
    for (;;) {
      const taken = await tenure.claim(SHARE);
      if (taken.length === 0) return;
      // What is to be cancelled must not run again first.
      await this.look();
      for (const runId of taken) await local.runtime.adopt(runId);
    }
  }
}
