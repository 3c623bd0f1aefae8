import type { RuntimeDependencies } from '@heddle/engine/runtime';
import type { ProcessRole } from '../options.ts';
import type { TaskCounter } from './task-meter.ts';
import type { WorkerGroup } from './worker-group.ts';

/** Current state of a worker process. */
export interface WorkerStatus {
  /** `polling`: accepts work. `draining`: finishes running work. `stopped`, `failed`: has ended. */
  state: 'polling' | 'draining' | 'stopped' | 'failed';
  roles: readonly ProcessRole[];
  /** Running activities, including local ones. */
  activityCount: number;
  /** Running workflow tasks. */
  workflowTaskCount: number;
  /** Workflows cached in memory. */
  cachedWorkflowCount: number;
  /** Totals since the worker started. */
  taskCounters: readonly TaskCounter[];
  /** Statistics of the sandbox; null before the first code has run. */
  sandbox: SandboxStatus | null;
}

/** Statistics of a worker's sandbox. */
export type SandboxStatus = NonNullable<ReturnType<RuntimeDependencies['codeService']['stats']>>;

export function statusOf(
  group: WorkerGroup,
  state: WorkerStatus['state'],
  sandbox: WorkerStatus['sandbox'],
): WorkerStatus {
  const statuses = group.statuses();
  const sum = (readCount: (status: (typeof statuses)[number]) => number): number =>
    statuses.reduce((total, status) => total + readCount(status), 0);
  return {
    state,
    roles: group.roles,
    activityCount: sum(({ numInFlightActivities }) => numInFlightActivities),
    workflowTaskCount: sum(({ numInFlightWorkflowActivations }) => numInFlightWorkflowActivations),
    cachedWorkflowCount: sum(({ numCachedWorkflows }) => numCachedWorkflows),
    taskCounters: group.meter.counters,
    sandbox,
  };
}
