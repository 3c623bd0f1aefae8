import { workflowInfo } from '@temporalio/workflow';
import type { Profile } from '../messages.ts';

/** Bytes of history at which a run continues as a new one: the server suggests it at 4 MB. */
const MANY_BYTES = 2_000_000;
/** So many times the budget may be spent while something long is under way; then nothing new begins until it has ended. */
const PATIENCE = 4;

/**
 * What is left of a run's history: it continues as a new one at the next quiet moment (`spent`), or must come to one
 * (`gone`). `spent` commands are counted by ourselves: what the server says stands still within a workflow task.
 */
export function budgetOf({ budget }: Profile, spent: number): 'left' | 'spent' | 'gone' {
  if (spent >= budget * PATIENCE) return 'gone';
  const { historySize, continueAsNewSuggested } = workflowInfo();
  return spent >= budget || historySize >= MANY_BYTES || continueAsNewSuggested ? 'spent' : 'left';
}
