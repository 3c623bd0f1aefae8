import type { EntryBody } from '@heddle/core/run';

/** What became of a posted entry: written; void, for the run had moved on without it; or nobody takes it any more. */
export type Fate = 'written' | 'void' | 'stopped';

export type Told = (fate: Fate) => void;

interface Posted {
  body: EntryBody;
  told: Told | undefined;
}

/** Entries on their way to a run's journal, and who wants to know what becomes of them. */
export class Inbox {
  private posted: Posted[] = [];
  /** Who posted what is being written. */
  private readonly hand: Told[] = [];
  private closed = false;

  get empty(): boolean {
    return this.posted.length === 0;
  }

  post(body: EntryBody, told: Told | undefined): void {
    if (this.closed) told?.('stopped');
    else this.posted.push({ body, told });
  }

  /** All that has come, for those that `accept` takes to be written. */
  take(accept: (body: EntryBody) => boolean): void {
    const { posted } = this;
    this.posted = [];
    for (const { body, told } of posted) {
      const accepted = accept(body);
      if (told && accepted) this.hand.push(told);
      else if (told) told('void');
    }
  }

  /** What was taken is written. */
  written(): void {
    if (this.hand.length > 0) for (const told of this.hand.splice(0)) told('written');
  }

  /** Takes no more. */
  close(): void {
    this.closed = true;
    for (const { told } of this.posted.splice(0)) told?.('stopped');
  }

  /** What was taken will not be written. */
  lost(): void {
    for (const told of this.hand.splice(0)) told('stopped');
  }
}
