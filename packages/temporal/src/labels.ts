import type { Labels, RunInput } from './messages.ts';

/** Search attributes of runs, as they have to be registered: all of them are keywords. */
export const SEARCH_ATTRIBUTES = {
  workflowId: 'HeddleWorkflowId',
  workflowName: 'HeddleWorkflowName',
  status: 'HeddleRunStatus',
} as const;

/** How a run stands, in the words of run records. */
export type ShownStatus = 'running' | 'paused' | 'completed' | 'failed' | 'cancelled';

interface Attribute {
  key: { name: string; type: 'KEYWORD' };
  value: string;
}

/** The search attribute that says how a run stands. */
export function statusAttribute(status: ShownStatus): Attribute {
  return attribute(SEARCH_ATTRIBUTES.status, status);
}

/** What a run's workflow is started with so that people find it: search attributes, or a memo. */
export function shownAs({ labels, profile }: Pick<RunInput, 'labels' | 'profile'>) {
  const named = Object.entries(labels) as [keyof Labels, string][];
  if (profile.attributes !== true)
    return { memo: Object.fromEntries(named.map(([key, value]) => [SEARCH_ATTRIBUTES[key], value])) };
  return {
    typedSearchAttributes: [
      ...named.map(([key, value]) => attribute(SEARCH_ATTRIBUTES[key], value)),
      statusAttribute('running'),
    ],
  };
}

function attribute(name: string, value: string): Attribute {
  return { key: { name, type: 'KEYWORD' }, value };
}
