import type { RuntimeParts } from '@heddle/engine/runtime';
import type { Role } from '../options.ts';
import type { Crew } from './crew.ts';
import type { Tally } from './meter.ts';

/** How a worker stands. */
export interface WorkerStatus {
  /** `polling`: takes on work. `draining`: finishes what it has. `stopped`, `failed`: does nothing any more. */
  state: 'polling' | 'draining' | 'stopped' | 'failed';
  roles: readonly Role[];
  /** Activities that run now, those within workflow tasks among them. */
  activities: number;
  /** Workflow tasks that run now. */
  workflowTasks: number;
  /** Workflows that are kept in memory. */
  cachedWorkflows: number;
  /** What has been done since the worker began. */
  tallies: readonly Tally[];
  /** The processes in which code runs; null before the first code. */
  sandbox: SandboxStatus | null;
}

/** How a worker's sandbox stands. */
export type SandboxStatus = NonNullable<ReturnType<RuntimeParts['code']['stats']>>;

export function statusOf(
  crew: Crew,
  state: WorkerStatus['state'],
  sandbox: WorkerStatus['sandbox'],
): WorkerStatus {
  const statuses = crew.statuses();
  const sum = (count: (status: (typeof statuses)[number]) => number): number =>
    statuses.reduce((total, status) => total + count(status), 0);
  return {
    state,
    roles: crew.roles,
    activities: sum(({ numInFlightActivities }) => numInFlightActivities),
    workflowTasks: sum(({ numInFlightWorkflowActivations }) => numInFlightWorkflowActivations),
    cachedWorkflows: sum(({ numCachedWorkflows }) => numCachedWorkflows),
    tallies: crew.meter.all,
    sandbox,
  };
}
