import type { Engine } from '@heddle/engine';
import type { InputLimits } from './admission/input-limits.ts';
import type { Capacity } from './admission/capacity.ts';
import type { Limiter } from './admission/limiter.ts';
import type { Concurrency, Usage } from './admission/usage.ts';
import type { RunQueue } from './areas/runs/queue.ts';
import type { Authenticator } from './auth/principal.ts';
import type { AllowsPublicRuns } from './auth/public.ts';
import type { ApiStore } from './store/open.ts';

/** Times that runs may take at most, in seconds; absent: as long as they need. */
export interface ExecutionPolicy {
  syncSeconds?: number;
  asyncSeconds?: number;
}

/** What operations work with. */
export interface Services {
  engine: Engine;
  store: ApiStore;
  authenticator: Authenticator;
  limiter: Limiter;
  /** Absent: nothing is counted. */
  usage: Usage | undefined;
  concurrency: Concurrency | undefined;
  /** Executions in flight. */
  capacity: Capacity;
  /** Bounds of what callers without a credential send. */
  publicInputs: Required<InputLimits>;
  queue: RunQueue;
  /** Whether workflows of a workspace may be public. */
  allowsPublicRuns: AllowsPublicRuns;
  policy: ExecutionPolicy;
  /** True: faults that older engines let pass are warnings in deployments. */
  compat: boolean;
  now: () => number;
  /** Every so many milliseconds a stream says that it is alive. */
  heartbeatMs: number;
  /** Calls `beat` again and again until what it gives is called. */
  every: (ms: number, beat: () => void) => () => void;
  /** Told of faults that reach no caller. */
  report: (error: unknown) => void;
}
