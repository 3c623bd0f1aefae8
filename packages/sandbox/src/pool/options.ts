import type { HostAnswer, HostCall } from '../protocol.ts';
import type { Job } from './job.ts';
import type { Placement } from './placement.ts';
import type { StarterOptions } from './starter.ts';

export interface PoolOptions extends StarterOptions, Placement {
  readonly minProcesses: number;
  readonly idleMs: number;
  readonly queueTimeoutMs: number;
  readonly maxQueued: number;
  readonly maxQueuedPerTenant: number;
  /** Limits that cause a process to be replaced: jobs served, age, memory. */
  readonly recycle: { readonly jobs: number; readonly ageMs: number; readonly rssMiB: number };
  readonly call: (job: Job, call: HostCall) => Promise<HostAnswer>;
}
