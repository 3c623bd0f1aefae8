import type { EntryBody } from '@heddle/core/run';

/** What became of a posted entry: written; void, for the run had moved on without it; or nobody takes it any more. */
export type Fate = 'written' | 'void' | 'stopped';

export type Told = (fate: Fate) => void;

/** One of a list: most often it is the only one, and an array would have room for seventeen. */
interface Posted {
  body: EntryBody;
  told: Told | undefined;
  next: Posted | undefined;
}

/** Entries on their way to a run's journal, and who wants to know what becomes of them. */
export class Inbox {
  private first: Posted | undefined;
  private last: Posted | undefined;
  /** Who posted what is being written. */
  private readonly hand: Told[] = [];
  private closed = false;

  get empty(): boolean {
    return this.first === undefined;
  }

  post(body: EntryBody, told: Told | undefined): void {
    if (this.closed) {
      told?.('stopped');
      return;
    }
    const posted: Posted = { body, told, next: undefined };
    if (this.last) this.last.next = posted;
    else this.first = posted;
    this.last = posted;
  }

  /** All that has come, for those that `accept` takes to be written. */
  take(accept: (body: EntryBody) => boolean): void {
    for (let posted = this.all(); posted; posted = posted.next) {
      const { body, told } = posted;
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
    for (let posted = this.all(); posted; posted = posted.next) posted.told?.('stopped');
  }

  /** What was taken will not be written. */
  lost(): void {
    for (const told of this.hand.splice(0)) told('stopped');
  }

  private all(): Posted | undefined {
    const { first } = this;
    this.first = this.last = undefined;
    return first;
  }
}
