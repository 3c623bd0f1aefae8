import { randomUUID } from 'node:crypto';
import { EngineError } from '@heddle/core';
import type { Clock } from '@heddle/core';
import type { LeaseStore } from '../../store/leases.ts';
import { repeat } from './repeat.ts';

export interface MembershipParts {
  leases: LeaseStore;
  clock: Clock;
  /** How long a process may have been silent and keep its runs. */
  leaseMs: number;
  /** Told when everything this process held is lost. */
  lost: (why: string) => void;
}

const UNREACHED = 'for the time of a lease it could not tell the database that it lives';
const REMOVED = 'the database had not heard of it for the time of a lease';

/** How often a lease is renewed before it would end. */
const BEATS = 3;

/**
 * This process among those that share a database: joins, renews its time, and knows when it must take itself for dead.
 *
 * Others go by the database's clock. This process goes by its own, from the moment *before* it asked for the renewal: what
 * it allows itself ends before what the others allow it, however long the answer took.
 */
export class Membership {
  private readonly parts: MembershipParts;
  /** Id of the process; a new one after each loss, so that nothing of before is ever taken for it. */
  private id = randomUUID() as string;
  private joined = false;
  private ended = false;
  private joining: Promise<string> | undefined;
  private untilMs = 0;
  private readonly left = new Set<string>();
  private cancelDeadline = (): void => undefined;
  private stopBeats: () => Promise<void> = () => Promise.resolve();

  constructor(parts: MembershipParts) {
    this.parts = parts;
  }

  /** The process as it may hold runs now; undefined: it holds none. */
  get owner(): string | undefined {
    return this.joined ? this.id : undefined;
  }

  /** Throws what the database has against it. */
  async begin(): Promise<void> {
    const { clock, leaseMs } = this.parts;
    await this.member();
    this.stopBeats = repeat(
      clock,
      leaseMs / BEATS,
      () => this.beat(),
      // Until the time is over a lost beat means nothing, and then it is said by what is lost.
      () => undefined,
    );
  }

  /** Everything is free for others from now on. */
  async end(): Promise<void> {
    this.ended = true;
    this.cancelDeadline();
    await this.stopBeats();
    await this.joining?.catch(() => undefined);
    this.retire();
    await this.leave();
  }

  /** Looks at the clock before a timer had its turn: a process that was frozen may have other things to do first. */
  look(): void {
    if (this.joined && this.parts.clock.now() >= this.untilMs) this.lose(UNREACHED);
  }

  /** Resolves once the process may hold runs; `removed`: the id by which it may not any more. Throws what the database has against it. */
  member(removed?: string): Promise<string> {
    if (this.ended)
      return Promise.reject(new EngineError('ENGINE_CLOSED', 'The engine is closed: it takes no more work.'));
    if (removed !== undefined && removed === this.owner) this.lose(REMOVED);
    if (this.joined) return Promise.resolve(this.id);
    this.joining ??= this.join().finally(() => (this.joining = undefined));
    return this.joining;
  }

  private async beat(): Promise<void> {
    const { leases, clock, leaseMs } = this.parts;
    const { owner } = this;
    if (owner !== undefined) {
      const askedMs = clock.now();
      const known = await leases.renew(owner, leaseMs);
      if (owner === this.owner && known) return this.extend(askedMs);
    }
    await this.member(owner);
  }

  private async join(): Promise<string> {
    const { leases, clock, leaseMs } = this.parts;
    await this.leave();
    const askedMs = clock.now();
    await leases.join(this.id, leaseMs);
    this.joined = true;
    this.extend(askedMs);
    return this.id;
  }

  private extend(askedMs: number): void {
    const { clock, leaseMs } = this.parts;
    this.cancelDeadline();
    this.untilMs = askedMs + leaseMs;
    this.cancelDeadline = clock.at(this.untilMs, () => this.lose(UNREACHED));
  }

  private lose(because: string): void {
    if (!this.joined) return;
    this.cancelDeadline();
    this.retire();
    this.parts.lost(
      `This process has lost its runs: ${because}. They go on where they are taken up, and it takes part again once it reaches the database.`,
    );
  }

  private retire(): void {
    this.left.add(this.id);
    this.id = randomUUID();
    this.joined = false;
  }

  /** What is left of earlier lives: others need not wait until its time has passed. */
  private async leave(): Promise<void> {
    for (const id of this.left) {
      await this.parts.leases.leave(id);
      this.left.delete(id);
    }
  }
}
