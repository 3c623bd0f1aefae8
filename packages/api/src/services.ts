import type { Engine } from '@heddle/engine';
import type { Capacity } from './admission/capacity.ts';
import type { InputLimits } from './admission/input-limits.ts';
import type { Limiter } from './admission/limiter.ts';
import type { Concurrency, Usage } from './admission/usage.ts';
import type { RunQueue } from './areas/runs/queue.ts';
import type { AllowsPublicRuns } from './auth/authorize.ts';
import type { Authenticator } from './auth/principal.ts';
import type { ApiStore } from './store/open.ts';

/** Time limits of runs, in seconds. Absent: no limit. */
export interface ExecutionPolicy {
  syncSeconds?: number;
  asyncSeconds?: number;
}

/** What operations use. */
export interface Services {
  engine: Engine;
  store: ApiStore;
  authenticator: Authenticator;
  limiter: Limiter;
  /** Undefined: usage is not counted. */
  usage: Usage | undefined;
  /** Undefined: runs in flight are not limited. */
  concurrency: Concurrency | undefined;
  /** Executions in flight in this process. */
  capacity: Capacity;
  /** Input limits of callers without a credential. */
  publicInputs: Required<InputLimits>;
  queue: RunQueue;
  allowsPublicRuns: AllowsPublicRuns;
  policy: ExecutionPolicy;
  /** Faults that older engines tolerate are warnings in deployments. */
  compat: boolean;
  now: () => number;
  /** Milliseconds between two heartbeats of a stream. */
  heartbeatMs: number;
  /** Calls `beat` every `ms` milliseconds. Returns a function that stops it. */
  every: (ms: number, beat: () => void) => () => void;
  /** Reports errors that reach no caller. */
  report: (error: unknown) => void;
}
