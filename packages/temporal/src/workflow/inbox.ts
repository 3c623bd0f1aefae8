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
  private wake: () => void = () => undefined;
  /** What stands against the run as a whole. */
  fault: Error | undefined;

  get empty(): boolean {
    return this.mails.length === 0 && this.fault === undefined;
  }

  /** The run cannot go on. */
  break(error: unknown): void {
    this.fault ??= error instanceof Error ? error : new TypeError(String(error));
    this.wake();
  }

  post(mail: Mail): void {
    this.mails.push(mail);
    this.wake();
  }

  /** Resolves when something is there. A condition of the SDK would be asked again and again, each time in a call into the workflow. */
  filled(): Promise<void> {
    return new Promise((resolve) => {
      if (this.empty) this.wake = resolve;
      else resolve();
    });
  }

  take(): Mail[] {
    return this.mails.splice(0);
  }
}
