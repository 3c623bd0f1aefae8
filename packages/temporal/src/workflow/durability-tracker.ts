import { workflowInfo } from '@temporalio/workflow';

/**
 * Tracks whether everything that the run has accepted is in its history. An update is in the history only after the
 * workflow task that accepted it has completed; if that task is lost, so is the update. The stores must not contain its
 * effects before then, because readers would believe them.
 */
export class DurabilityTracker {
  #volatileAt = -1;

  /** Records that this workflow task has accepted an update. */
  markVolatile(): void {
    this.#volatileAt = workflowInfo().historyLength;
  }

  /** True once a later workflow task runs. */
  get isDurable(): boolean {
    return workflowInfo().historyLength > this.#volatileAt;
  }
}
