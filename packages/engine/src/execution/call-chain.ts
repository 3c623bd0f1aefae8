import type { NewRun } from '@heddle/core';

/** Returns the call chain that a run passes on: the workflows that led to it, then its own. */
export function callChainOf({ via = [], workflowId }: Pick<NewRun, 'via' | 'workflowId'>): string[] {
  // Ids can come from files: a header takes neither commas nor what is not ASCII.
  return [...via, encodeURIComponent(workflowId.toWellFormed())];
}
