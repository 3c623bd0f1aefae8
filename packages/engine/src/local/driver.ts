import type { Applied, Entry, EntryBody } from '@heddle/core/run';
import type { DriverParts } from './driver-parts.ts';

/** Entries after which other work of the process gets its turn. */
const BREATH = 256;

/**
 * The event loop of one run: feeds what happens to the replica, writes it down, carries out what follows.
 *
 * 1. An entry is written before any command that it led to is carried out.
 * 2. There are no rules here: what happens next is the machine's answer.
 */
export class Driver {
  private readonly inbox: EntryBody[] = [];
  private readonly parts: DriverParts;
  private pumping = false;
  private stopped = false;

  constructor(parts: DriverParts) {
    this.parts = parts;
  }

  post(body: EntryBody): void {
    if (this.stopped) return;
    this.inbox.push(body);
    if (!this.pumping) void this.pump();
  }

  /** Something is being fed, or waits to be. */
  get busy(): boolean {
    return this.pumping || this.inbox.length > 0;
  }

  /** Takes no more: what happens from now on is found out again at the next start. */
  stop(): void {
    this.stopped = true;
    this.inbox.length = 0;
  }

  private async pump(): Promise<void> {
    this.pumping = true;
    try {
      for (let fed = 0; this.inbox.length > 0 && !this.stopped; fed++) {
        const batch = this.take();
        if (batch.length === 0) continue;
        const written = this.parts.append(
          this.parts.replica.runId,
          batch.map(({ entry }) => entry),
        );
        if (written) await written;
        else if (fed % BREATH === BREATH - 1) await new Promise(setImmediate);
        for (const { entry, applied } of batch) this.parts.observe(entry, applied);
        for (const { applied } of batch) for (const command of applied.commands) this.parts.perform(command);
      }
    } catch (error) {
      this.stop();
      this.parts.broken(error);
    } finally {
      this.pumping = false;
    }
    this.parts.settled();
  }

  private take(): { entry: Entry; applied: Applied }[] {
    const { replica, clock } = this.parts;
    const batch: { entry: Entry; applied: Applied }[] = [];
    for (const body of this.inbox.splice(0)) {
      const entry: Entry = { seq: replica.seq + 1, atMs: clock.now(), ...body };
      const applied = replica.apply(entry);
      if (applied.changed) batch.push({ entry, applied });
    }
    return batch;
  }
}
