import { workflowInfo } from '@temporalio/workflow';

/**
 * Whether what the run has taken in stands in its history. An update does only once the workflow task that took it in is
 * through: when that task is lost, be it because something else came in meanwhile, the update is lost with it. So
 * nothing of it may be written into the stores before, where it would be believed.
 */
export class Footing {
  private loose = -1;

  /** An update was taken in, in this workflow task. */
  loosen(): void {
    this.loose = workflowInfo().historyLength;
  }

  /** True in all later workflow tasks. */
  get isFirm(): boolean {
    return workflowInfo().historyLength > this.loose;
  }
}
