import { ApiError } from '../errors.ts';
import type { ApiDetailCode } from '../errors.ts';

/** A run that is asked for: from it a host finds out who pays. */
export interface RunRequest {
  /** The engine's id of the run, unique over all workspaces. */
  runId: string;
  workflowId: string;
  workspaceId: string;
  /** The acting person; null for keys of a workspace and for calls without a credential. */
  userId: string | null;
  mode: 'sync' | 'stream' | 'async' | 'resume';
}

/**
 * Why nobody pays for a run: `suspended`: the account is; `limit`: a usage limit is reached; `payer`, `member`: what is
 * left, to the account or to the person, does not cover it.
 */
export type UsageRefusal = 'suspended' | 'limit' | 'payer' | 'member';

/** Called once, when the run has ended, waits for a person, or has not come about. */
export type Release = () => void;

/** Counts what runs cost. A host brings its own; without one nothing is counted. */
export interface Usage {
  /** Reserves what the run may cost; `leave`, where there is one, ends the reservation. Where it rejects, nothing runs. */
  reserve(run: RunRequest): Promise<UsageAnswer> | UsageAnswer;
  /** What the caller has used; absent: that is told to nobody. */
  summary?(caller: {
    userId: string | null;
    workspaceId: string | null;
  }): Promise<UsageSummary | null> | UsageSummary | null;
}

/** What was used in this period, in the currency of the host, and how much may be; null: without limit. */
export interface UsageSummary {
  currentPeriodCost: number;
  limit: number | null;
  plan: string | null;
}

export type UsageAnswer = { refused: UsageRefusal } | { release?: Release };

/** Counts runs in flight, over all processes. A host brings its own; without one they are not counted. */
export interface Concurrency {
  /** Takes a place, and gives how to leave it; null: there is none. Where it rejects, nothing runs. */
  acquire(run: RunRequest): Promise<Release | null> | Release | null;
}

/** Lets at most so many runs of each workspace be in flight in this process. */
export function memoryConcurrency(perWorkspace: number): Concurrency {
  const inFlight = new Map<string, number>();
  return {
    acquire({ workspaceId }) {
      const before = inFlight.get(workspaceId) ?? 0;
      if (before >= perWorkspace) return null;
      inFlight.set(workspaceId, before + 1);
      return once(() => {
        const left = (inFlight.get(workspaceId) ?? 1) - 1;
        if (left === 0) inFlight.delete(workspaceId);
        else inFlight.set(workspaceId, left);
      });
    },
  };
}

const HEADROOM: { [refusal in UsageRefusal]?: ApiDetailCode } = {
  payer: 'EXECUTION_PAYER_HEADROOM_EXHAUSTED',
  member: 'EXECUTION_MEMBER_HEADROOM_EXHAUSTED',
};

/** 402, or 403 for an account that is suspended. */
export function usageRefused(refusal: UsageRefusal): ApiError {
  if (refusal === 'suspended') return new ApiError(403, 'The account is suspended');
  const code = HEADROOM[refusal];
  const message = code ? 'What is left of the usage limit does not cover the run' : 'Usage limit reached';
  return new ApiError(402, message, code ? { details: { code } } : {});
}

/** `leave` that does nothing when it is called again. */
export function once(leave: Release): Release {
  let left = false;
  return () => {
    if (!left) leave();
    left = true;
  };
}
