import type { Engine } from '@heddle/engine';
import type { Kysely } from 'kysely';
import type { CapacityLimiter } from './admission/capacity.ts';
import type { InputLimits } from './admission/input-limits.ts';
import type { Limiter } from './admission/limiter.ts';
import type { Concurrency, Usage } from './admission/usage.ts';
import type { RunQueue } from './areas/runs/queue.ts';
import type { RepeatFunction } from './defaults.ts';
import type { Access, Audit, Definitions, RunTimeouts, PublicRuns, Reservations } from './ports.ts';

/** The services and settings that areas (modules of API operations) get. */
export interface AreaContext {
  engine: Engine;
  definitions: Definitions;
  access: Access;
  reservations: Reservations;
  /** Undefined: public workflows cannot be run without a credential. */
  publicRuns: PublicRuns | undefined;
  audit: Audit;
  limiter: Limiter;
  /** Undefined: usage is not counted. */
  usage: Usage | undefined;
  /** Undefined: runs in flight are not limited. */
  concurrency: Concurrency | undefined;
  /** Executions in flight in this process. */
  capacityLimiter: CapacityLimiter;
  timeouts: RunTimeouts;
  /** Maximum body size in bytes of individual operations, by the id of the operation. */
  bodyBytes: ReadonlyMap<string, number>;
  /** Input limits of unauthenticated callers. */
  publicInputLimits: Required<InputLimits>;
  /** Starts asynchronous runs; undefined: they are refused. */
  queue: RunQueue | undefined;
  /** Undefined: the host has no database for areas. */
  database: Kysely<unknown> | undefined;
  /** True if problems in workflows that older engines tolerate are reported as warnings. */
  compat: boolean;
  now: () => number;
  /** Milliseconds between two heartbeats of a stream. */
  heartbeatMs: number;
  /** Calls `callback` every `ms` milliseconds. Returns a function that stops it. */
  repeat: RepeatFunction;
  /** Reports errors that reach no caller. */
  onError: (error: unknown) => void;
}
