import { workflowInfo } from '@temporalio/workflow';

/**
 * Tracks whether all updates that the run has accepted are in its history. An update is in the history only after the
 * workflow task that accepted it has completed; if that task is lost, the update is also lost. Until the task has
 * completed, the stores must not contain the update's effects, because readers would rely on them.
 */
export class DurabilityTracker {
  /** -1: no update has been accepted. */
  #historyLengthAtUpdate = -1;

  /** Records that this workflow task has accepted an update. */
  markVolatile(): void {
    this.#historyLengthAtUpdate = workflowInfo().historyLength;
  }

  /** True once a later workflow task runs. */
  get isDurable(): boolean {
    return workflowInfo().historyLength > this.#historyLengthAtUpdate;
  }
}
