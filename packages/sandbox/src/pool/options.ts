import type { HostResponse, HostCall } from '../protocol.ts';
import type { Job } from './job.ts';
import type { AssignmentRules } from './assignment.ts';
import type { WorkerLauncherOptions } from './worker-launcher.ts';

export interface PoolOptions extends WorkerLauncherOptions, AssignmentRules {
  readonly minProcesses: number;
  readonly idleMs: number;
  readonly queueTimeoutMs: number;
  readonly maxQueued: number;
  readonly maxQueuedPerTenant: number;
  /** Limits that cause a process to be replaced: jobs served, age, memory. */
  readonly recycle: { readonly jobs: number; readonly ageMs: number; readonly rssMiB: number };
  /** Answers a host call of a job. */
  readonly handleHostCall: (job: Job, call: HostCall) => Promise<HostResponse>;
}
