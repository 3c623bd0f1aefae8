import type { EntryBody } from '@heddle/core/run';
import type { AppliedEntry } from '../../records/fold.ts';
import type { DriverParts } from './driver-parts.ts';
import { Inbox } from './inbox.ts';
import type { Told } from './inbox.ts';
import { numbered } from './numbered.ts';

/** Batches after which other work of the process gets its turn. */
const BREATH = 256;

/**
 * The event loop of one run: feeds what happens to the replica, writes it down, carries out what follows.
 *
 * 1. An entry is written before any command that it led to is carried out.
 * 2. There are no rules here: what happens next is the machine's answer.
 */
export class Driver {
  private readonly parts: DriverParts;
  private readonly inbox = new Inbox();
  private readonly flushes: (() => void)[] = [];
  /** Something is being fed. */
  busy = false;
  /** The replica is ahead of the journal. */
  writing = false;

  constructor(parts: DriverParts) {
    this.parts = parts;
  }

  post(body: EntryBody, told?: Told): void {
    this.inbox.post(body, told);
    if (!this.busy && !this.inbox.empty) void this.pump();
  }

  /** Resolves when nothing is left to feed. */
  flushed(): Promise<void> {
    return this.busy ? new Promise((resolve) => this.flushes.push(resolve)) : Promise.resolve();
  }

  /** Takes no more: what happens from now on is found out again at the next start. */
  stop(): void {
    this.inbox.close();
  }

  private async pump(): Promise<void> {
    this.busy = true;
    try {
      for (let fed = 1; !this.inbox.empty; fed++) {
        const batch = this.apply();
        if (batch.length === 0) continue;
        const written = this.parts.append(batch);
        this.writing = written !== undefined;
        if (written ?? fed % BREATH === 0) {
          this.parts.waits();
          await (written ?? new Promise(setImmediate));
        }
        this.writing = false;
        this.parts.observe(batch);
        this.inbox.written();
        for (const { applied } of batch) for (const command of applied.commands) this.parts.perform(command);
      }
    } catch (error) {
      this.inbox.lost();
      this.parts.broken(error);
    }
    this.writing = this.busy = false;
    for (const flush of this.flushes.splice(0)) flush();
    this.parts.settled();
  }

  private apply(): AppliedEntry[] {
    const batch: AppliedEntry[] = [];
    this.inbox.take((body) => {
      const entry = numbered(body, this.parts.replica.seq + 1, this.parts.clock.now());
      const applied = this.parts.replica.apply(entry);
      if (applied.changed) batch.push({ entry, applied });
      return applied.changed;
    });
    return batch;
  }
}
