import { createCounter } from './counter.ts';

/** A run that asks for admission. A host finds out from it who pays. */
export interface RunRequest {
  /** The engine's id of the run, unique over all workspaces. */
  runId: string;
  workflowId: string;
  workspaceId: string;
  /** The acting person; null for workspace keys and anonymous calls. */
  userId: string | null;
  mode: 'sync' | 'stream' | 'async' | 'resume';
}

/**
 * Why a run is not paid for. `suspended`: the account is suspended; `limit`: a usage limit is reached; `payer`, `member`:
 * the rest of the account's or of the person's limit does not cover the run.
 */
export type UsageRefusal = 'suspended' | 'limit' | 'payer' | 'member';

/** Ends a reservation. Called once, when the run has ended, waits for a person, or was not started. */
export type Release = () => void;

/** Accounts for what runs cost. A host brings its own; without one nothing is counted. */
export interface Usage {
  /** Reserves the cost of a run. When it rejects, nothing runs. */
  reserve(run: RunRequest): Promise<UsageAnswer> | UsageAnswer;
  /** Returns the caller's usage; undefined for a caller who may not see it. Without this method, usage is not shown. */
  summary?(caller: {
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

export type UsageAnswer = { refused: UsageRefusal } | { release?: Release };

/** Limits runs in flight over all processes. A host brings its own; without one there is no limit. */
export interface Concurrency {
  /** Takes a slot and returns what frees it; undefined when none is free. When it rejects, nothing runs. */
  acquire(run: RunRequest): Promise<Release | undefined> | Release | undefined;
}

/** Returns a limit of `perWorkspace` runs in flight for each workspace in this process. */
export function memoryConcurrency(perWorkspace: number): Concurrency {
  const inFlight = createCounter();
  return { acquire: ({ workspaceId }) => inFlight.increment(workspaceId, perWorkspace) };
}
