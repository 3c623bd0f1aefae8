import type { Asked, Happened } from '../messages.ts';

/** Something for the driver to take in. */
export interface Mail {
  happened?: Happened;
  /** Commands that are to be carried out if they are still owed. */
  again?: readonly Asked[];
  /** They take too long for a workflow task. */
  long?: boolean;
  /** Told how many entries the journal has with these; 0: they came too late. */
  told?: (seq: number) => void;
}

/** What has come in and was not taken yet, in order of arrival. */
export class Inbox {
  private mails: Mail[] = [];
  /** What stands against the run as a whole. */
  fault: Error | undefined;

  get empty(): boolean {
    return this.mails.length === 0 && this.fault === undefined;
  }

  /** The run cannot go on. */
  break(error: unknown): void {
    this.fault ??= error instanceof Error ? error : new TypeError(String(error));
  }

  post(mail: Mail): void {
    this.mails.push(mail);
  }

  take(): Mail[] {
    return this.mails.splice(0);
  }
}
