import { ApiError } from '../errors.ts';

/** How many executions may be in flight in this process. */
export interface CapacityLimits {
  total: number;
  /** Of one caller: a person with all their keys, the keys of a workspace, or those who run public workflows of a workspace. */
  perCaller: number;
  /** In one workspace, whoever calls. */
  perWorkspace: number;
}

/** One execution in flight. */
export interface CapacitySlot {
  /** Counts it in its workspace too, once that is known. Throws 429. */
  joinWorkspace(workspaceId: string): void;
  /** Gives it back. Does nothing when it is called again. */
  release(): void;
}

/** Counts what is in flight in this process. */
export interface Capacity {
  /** Throws 429 when there is no place for the caller. */
  acquire(caller: string): CapacitySlot;
  readonly inFlight: number;
}

const DEFAULT_CAPACITY = 500;
/** Shares of the total: one caller or one workspace leaves room for the others. */
const CALLER_SHARE = 0.5;
const WORKSPACE_SHARE = 0.75;

/** The limits with what is not given; a number is the total. */
export function capacityLimits(given: number | Partial<CapacityLimits> = {}): CapacityLimits {
  const { total = DEFAULT_CAPACITY, ...shares } = typeof given === 'number' ? { total: given } : given;
  return {
    total,
    perCaller: Math.ceil(total * CALLER_SHARE),
    perWorkspace: Math.ceil(total * WORKSPACE_SHARE),
    ...shares,
  };
}

export function createCapacity({ total, perCaller, perWorkspace }: CapacityLimits): Capacity {
  let inFlight = 0;
  const callers = new Map<string, number>();
  const workspaces = new Map<string, number>();
  return {
    get inFlight() {
      return inFlight;
    },
    acquire(caller) {
      if (inFlight >= total) throw refused('Server is at capacity. Please retry shortly.');
      const leaving = [take(callers, caller, perCaller)];
      inFlight += 1;
      return {
        joinWorkspace(workspaceId) {
          leaving.push(take(workspaces, workspaceId, perWorkspace));
        },
        release() {
          if (leaving.length > 0) inFlight -= 1;
          for (const leave of leaving.splice(0)) leave();
        },
      };
    },
  };
}

/** Counts one more for the subject and returns how to count it no more. Throws 429 where the subject has as many as it may. */
function take(counts: Map<string, number>, subject: string, most: number): () => void {
  const count = counts.get(subject) ?? 0;
  if (count >= most) {
    const details = { code: 'EXECUTION_CONCURRENCY_LIMIT' };
    throw refused('Too many of these executions are in flight. Please retry shortly.', { details });
  }
  counts.set(subject, count + 1);
  return () => {
    const left = (counts.get(subject) ?? 1) - 1;
    if (left === 0) counts.delete(subject);
    else counts.set(subject, left);
  };
}

function refused(message: string, more: { details?: { code: string } } = {}): ApiError {
  return new ApiError(429, message, { ...more, headers: { 'Retry-After': '5' } });
}
