import type { Labels, RunInput } from './messages.ts';

/** Names of the search attributes of runs. All have the type keyword. */
export const SEARCH_ATTRIBUTES = {
  workflowId: 'HeddleWorkflowId',
  workflowName: 'HeddleWorkflowName',
  status: 'HeddleRunStatus',
} as const;

/** Status of a run as a search attribute, in the terms of run records. */
export type RunStatusAttribute = 'running' | 'paused' | 'completed' | 'failed' | 'cancelled';

interface Attribute {
  key: { name: string; type: 'KEYWORD' };
  value: string;
}

/** Returns the search attribute with a run's status. */
export function toStatusAttribute(status: RunStatusAttribute): Attribute {
  return toAttribute(SEARCH_ATTRIBUTES.status, status);
}

/** Returns start options that make a run visible on the server: search attributes, or a memo. */
export function visibilityOptionsOf({ labels, profile }: Pick<RunInput, 'labels' | 'profile'>) {
  const entries = Object.entries(labels) as [keyof Labels, string][];
  if (profile.attributes !== true)
    return { memo: Object.fromEntries(entries.map(([key, value]) => [SEARCH_ATTRIBUTES[key], value])) };
  return {
    typedSearchAttributes: [
      ...entries.map(([key, value]) => toAttribute(SEARCH_ATTRIBUTES[key], value)),
      toStatusAttribute('running'),
    ],
  };
}

function toAttribute(name: string, value: string): Attribute {
  return { key: { name, type: 'KEYWORD' }, value };
}
