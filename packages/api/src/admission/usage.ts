import { createCounter } from './counter.ts';

/** A run to admit. The host determines from it who pays. */
export interface RunRequest {
  /** The engine's id of the run, unique over all workspaces. */
  runId: string;
  workflowId: string;
  workspaceId: string;
  /** The acting user; null for workspace keys and anonymous calls. */
  userId: string | null;
  mode: 'sync' | 'stream' | 'async' | 'resume';
}

/**
 * The reason why the cost of a run cannot be reserved. `suspended`: the account is suspended; `limit`: a usage limit is
 * reached; `payer`, `member`: the remaining limit of the account or of the user does not cover the run.
 */
export type UsageRefusal = 'suspended' | 'limit' | 'payer' | 'member';

/**
 * Ends a reservation or frees a slot. Called once: when the call has ended, or when the run has ended, waits for a
 * person, or was not started.
 */
export type Release = () => void;

/** Accounts for the cost of runs. The host provides it; without it nothing is counted. */
export interface Usage {
  /** Reserves the cost of a run. When it rejects, the run does not start. */
  reserve(run: RunRequest): Promise<UsageDecision> | UsageDecision;
  /** Returns the caller's usage; undefined for a caller who may not see it. Without this method, usage is not shown. */
  getSummary?(caller: {
    userId: string | null;
    workspaceId: string | null;
  }): Promise<UsageSummary | undefined> | UsageSummary | undefined;
}

/** Usage in the current period, in the host's currency. */
export interface UsageSummary {
  currentPeriodCost: number;
  /** Null: no limit. */
  limit: number | null;
  plan: string | null;
}

export type UsageDecision = { refusal: UsageRefusal } | { release?: Release };

/** Limits runs and calls in flight over all processes. The host provides it; without it there is no limit. */
export interface Concurrency {
  /**
   * Takes a slot and returns a function that frees it; undefined when no slot is free. When it rejects, the run does
   * not start.
   */
  acquire(run: RunRequest): Promise<Release | undefined> | Release | undefined;
  /**
   * Takes a slot for a call of an operation, in the same way. A caller is a user with all their keys, the keys of a
   * workspace, or all anonymous callers of a workspace. Without this method calls are not limited.
   */
  acquireCall?(operation: string, caller: string): Promise<Release | undefined> | Release | undefined;
}

/** Maximum numbers of runs and calls in flight. */
export interface ConcurrencyLimits {
  /** Runs of a workspace. Absent: no limit. */
  runs?: number | undefined;
  /** Calls of single operations by one caller, by the id of the operation. */
  calls?: { readonly [operationId: string]: number };
}

/** The release function of a call without a limit. */
const releaseNothing = () => undefined;

/** Returns limits that are counted in this process. A plain number limits the runs of a workspace. */
export function memoryConcurrency(limits: number | ConcurrencyLimits): Concurrency {
  const { runs = Infinity, calls = {} } = typeof limits === 'number' ? { runs: limits } : limits;
  const [runCounter, callCounter] = [createCounter(), createCounter()];
  return {
    acquire: ({ workspaceId }) => runCounter.increment(workspaceId, runs),
    acquireCall(operation, caller) {
      const limit = callLimit(calls, operation);
      return limit === Infinity ? releaseNothing : callCounter.increment(`${operation} ${caller}`, limit);
    },
  };
}

/** Returns how many calls of an operation one caller may have in flight. */
export function callLimit(calls: NonNullable<ConcurrencyLimits['calls']>, operation: string): number {
  return Object.hasOwn(calls, operation) ? (calls[operation] ?? Infinity) : Infinity;
}
