import { tooManyRequests } from '../errors.ts';
import { createCounter } from './counter.ts';

/** Limits on the executions in flight in this process. */
export interface CapacityLimits {
  total: number;
  /** Per caller: a user with all their keys, the keys of a workspace, or all anonymous callers of a workspace. */
  perCaller: number;
  /** Per workspace, over all callers. */
  perWorkspace: number;
}

/** The slot of one execution in flight. */
export interface CapacitySlot {
  /** Counts the execution against its workspace as well, once the workspace is known. Throws 429. */
  countForWorkspace(workspaceId: string): void;
  /** Frees the slot. Further calls do nothing. */
  release(): void;
}

/** Limits the executions in flight in this process. */
export interface CapacityLimiter {
  /** Returns a slot. Throws 429 when no slot is free for the caller. */
  acquire(caller: string): CapacitySlot;
  readonly inFlight: number;
}

const DEFAULT_CAPACITY = 500;
/** Shares of the total. They leave room for other callers and workspaces. */
const CALLER_SHARE = 0.5;
const WORKSPACE_SHARE = 0.75;

/** Returns the limits with defaults. A plain number sets the total. */
export function capacityLimits(limits: number | Partial<CapacityLimits> = {}): CapacityLimits {
  const { total = DEFAULT_CAPACITY, ...overrides } = typeof limits === 'number' ? { total: limits } : limits;
  return {
    total,
    perCaller: Math.ceil(total * CALLER_SHARE),
    perWorkspace: Math.ceil(total * WORKSPACE_SHARE),
    ...overrides,
  };
}

export function createCapacityLimiter({ total, perCaller, perWorkspace }: CapacityLimits): CapacityLimiter {
  let inFlight = 0;
  const callers = createCounter();
  const workspaces = createCounter();
  return {
    get inFlight() {
      return inFlight;
    },
    acquire(caller) {
      if (inFlight >= total) throw tooManyRequests('Server is at capacity. Please retry shortly.');
      const releases = [callers.increment(caller, perCaller) ?? refuse()];
      inFlight += 1;
      return {
        countForWorkspace(workspaceId) {
          releases.push(workspaces.increment(workspaceId, perWorkspace) ?? refuse());
        },
        release() {
          if (releases.length > 0) inFlight -= 1;
          for (const release of releases.splice(0)) release();
        },
      };
    },
  };
}

function refuse(): never {
  throw tooManyRequests(
    'Too many executions of this caller or workspace are in flight. Please retry shortly.',
    'EXECUTION_CONCURRENCY_LIMIT',
  );
}
