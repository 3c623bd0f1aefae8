import { CancellationScope, condition } from '@temporalio/workflow';

/** So long a cancelled run waits for the cancel of its workflow that was announced. */
const ANNOUNCED_MS = 5_000;

/**
 * A run is cancelled by a signal, which carries the reason and its journal entry. The server shows a workflow as cancelled
 * only when it was asked to cancel it too: whoever sends the signal does so next, and says that they will.
 */
export class Cancels {
  private announced = false;
  private requested = false;

  /** `outside` is called when the workflow is cancelled by somebody who has sent no signal. */
  constructor(outside: () => void) {
    CancellationScope.current().cancelRequested.catch(() => {
      this.requested = true;
      if (!this.announced) outside();
    });
  }

  /** The cancel of the workflow is under way. */
  announce(): void {
    this.announced = true;
  }

  /** Resolves when what was announced is there; the run ends without it when its sender has died. */
  async arrived(): Promise<void> {
    if (this.announced && !this.requested) await condition(() => this.requested, ANNOUNCED_MS);
  }
}
