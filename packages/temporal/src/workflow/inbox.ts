import type { ActivityCommand, EventBatch } from '../messages.ts';

/** One input of the driver. */
export interface InboxItem {
  batch?: EventBatch;
  /** Commands to execute again if they are still pending. */
  commandsToRetry?: readonly ActivityCommand[];
  /** True: the commands that follow from this item take too long for a workflow task. */
  isSlow?: boolean;
  /** Called with the length of the journal after the batch, or 0 if the batch was late and changed nothing. */
  onRecorded?: (seq: number) => void;
}

/** Inputs that the driver has not processed yet, in order of arrival. */
export class Inbox {
  #items: InboxItem[] = [];
  #wake: () => void = () => undefined;
  /** The error that stops the run. */
  fault: Error | undefined;

  get isEmpty(): boolean {
    return this.#items.length === 0 && this.fault === undefined;
  }

  /** Stops the run with an error; later errors are ignored. */
  fail(error: unknown): void {
    this.fault ??= error instanceof Error ? error : new TypeError(String(error));
    this.#wake();
  }

  post(item: InboxItem): void {
    this.#items.push(item);
    this.#wake();
  }

  /** Resolves when an input is available. The SDK's `condition` would evaluate a predicate in each activation. */
  whenFilled(): Promise<void> {
    return new Promise((resolve) => {
      if (this.isEmpty) this.#wake = resolve;
      else resolve();
    });
  }

  /** Removes and returns all inputs. */
  take(): InboxItem[] {
    return this.#items.splice(0);
  }
}
