import type { Bucket, Buckets, ConcurrencyLimits } from '@heddle/api';
import type { RunTimeouts } from '@heddle/api/ports';
import { SimilarNames } from '@heddle/core/drafts';
import * as z from 'zod';

/** Limits on the requests and runs of an installation. Null: no limit. */
export interface LimitPlan {
  /** Requests to one operation, counted per credential and, separately, per account. */
  requestsPerMinute: number | null;
  /** Limits of individual operations, by the id of the operation. */
  operations: { readonly [operationId: string]: OperationLimits };
  /** Runs that an account starts and waits for. */
  syncRunsPerMinute: number | null;
  /** Runs that an account starts in the background. */
  asyncRunsPerMinute: number | null;
  /** Runs of a workspace that are in flight at the same time. */
  concurrentRuns: number | null;
  /** Requests from one client address, before their credentials are checked. */
  addressRequestsPerMinute: number | null;
  /** Time limit of runs that the caller waits for. */
  syncTimeoutSeconds: number | null;
  /** Time limit of runs in the background. */
  asyncTimeoutSeconds: number | null;
}

/** Limits of one operation. */
export interface OperationLimits {
  /** As in `LimitPlan`, for this operation. Absent: the limit of the plan. */
  requestsPerMinute?: number | null | undefined;
  /** Maximum number of requests in a burst, after a pause. Absent: twice `requestsPerMinute`. */
  burst?: number | undefined;
  /** Concurrent calls of one account. */
  concurrentRequests?: number | undefined;
  /** Maximum size of the body in bytes, if it is lower than the limit of the operation. */
  bodyBytes?: number | undefined;
}

const NO_LIMITS: LimitPlan = {
  requestsPerMinute: null,
  operations: {},
  syncRunsPerMinute: null,
  asyncRunsPerMinute: null,
  concurrentRuns: null,
  addressRequestsPerMinute: null,
  syncTimeoutSeconds: null,
  asyncTimeoutSeconds: null,
};

/** The limits of the plans, by name. No plan has time limits: a run may wait for days. */
export const PLANS = {
  none: NO_LIMITS,
  free: planOf([30, 50, 200, 10]),
  pro: planOf([100, 150, 1000, 50]),
  team: planOf([200, 300, 2500, 200]),
  enterprise: planOf([500, 600, 5000, 1000]),
} as const satisfies { [name: string]: LimitPlan };

type PlanName = keyof typeof PLANS;

function planOf([requests, syncRuns, asyncRuns, runs]: readonly [number, number, number, number]): LimitPlan {
  return {
    ...NO_LIMITS,
    requestsPerMinute: requests,
    syncRunsPerMinute: syncRuns,
    asyncRunsPerMinute: asyncRuns,
    concurrentRuns: runs,
    addressRequestsPerMinute: 300,
  };
}

const MAX_COUNT = 1_000_000;
const MAX_SECONDS = 604_800;
const count = z.int().min(1).max(MAX_COUNT).optional();
const countOrNull = count.nullable();
const seconds = z.int().min(1).max(MAX_SECONDS).nullable().optional();

const operationLimits = z.strictObject({
  requestsPerMinute: countOrNull,
  burst: count,
  concurrentRequests: count,
  bodyBytes: z.int().min(1).optional(),
});

/** A limits file: a plan, and values that replace those of the plan. */
const limitsFile = z.strictObject({
  plan: z.enum(Object.keys(PLANS) as [PlanName, ...PlanName[]]).default('enterprise'),
  requestsPerMinute: countOrNull,
  operations: z.record(z.string(), operationLimits).optional(),
  syncRunsPerMinute: countOrNull,
  asyncRunsPerMinute: countOrNull,
  concurrentRuns: countOrNull,
  addressRequestsPerMinute: countOrNull,
  syncTimeoutSeconds: seconds,
  asyncTimeoutSeconds: seconds,
});

/**
 * Returns the limits in a file. It may have separate limits for the operations `operationIds`. Throws an error that
 * names each invalid value.
 */
export function parseLimits(json: string, operationIds: readonly string[]): LimitPlan {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch (error) {
    throw new Error(`The limits are not JSON: ${(error as Error).message}`, { cause: error });
  }
  const result = limitsFile.safeParse(value);
  if (!result.success) {
    const reasons = result.error.issues.map(({ path, message }) => [...path, message].join(': '));
    throw new Error(`The limits are not valid. ${reasons.join('. ')}.`);
  }
  const { plan, ...fileLimits } = result.data;
  const unknownId = Object.keys(fileLimits.operations ?? {}).find((id) => !operationIds.includes(id));
  if (unknownId !== undefined) throw new Error(unknownOperationMessage(unknownId, operationIds));
  const overrides = Object.entries(fileLimits).filter(([, limit]) => limit !== undefined);
  const limits: LimitPlan = { ...PLANS[plan], ...Object.fromEntries(overrides) };
  for (const [id, { burst, requestsPerMinute = limits.requestsPerMinute }] of Object.entries(
    limits.operations,
  ))
    if (burst !== undefined && requestsPerMinute === null)
      throw new Error(`The limits are not valid. operations: ${id}: burst needs requestsPerMinute.`);
  return limits;
}

function unknownOperationMessage(id: string, operationIds: readonly string[]): string {
  const suggestion = new SimilarNames(operationIds).findNearest(id);
  const hint = suggestion ? ` Did you mean ${JSON.stringify(suggestion.name)}?` : '';
  return `The limits are not valid. operations: There is no operation ${JSON.stringify(id)}.${hint}`;
}

/**
 * Returns the token buckets of a plan. A bucket holds the burst, by default twice the rate, and refills at the rate.
 */
export function bucketsOf(plan: LimitPlan): Buckets {
  const kindBuckets = bucketsByKind({
    address: plan.addressRequestsPerMinute,
    operation: plan.requestsPerMinute,
    sync: plan.syncRunsPerMinute,
    async: plan.asyncRunsPerMinute,
  });
  const operationBuckets = Object.entries(plan.operations).flatMap(
    ([id, limits]): [string, Bucket | null][] => {
      const { burst, requestsPerMinute = plan.requestsPerMinute } = limits;
      if (burst === undefined && limits.requestsPerMinute === undefined) return [];
      return [[id, requestsPerMinute === null ? null : bucketOf(requestsPerMinute, burst)]];
    },
  );
  return {
    ...kindBuckets,
    ...(operationBuckets.length > 0 && { operations: Object.fromEntries(operationBuckets) }),
  };
}

function bucketsByKind(rates: { [kind: string]: number | null }): { [kind: string]: Bucket } {
  const entries = Object.entries(rates).filter((entry): entry is [string, number] => entry[1] !== null);
  return Object.fromEntries(entries.map(([kind, perMinute]) => [kind, bucketOf(perMinute)]));
}

function bucketOf(perMinute: number, burst = 2 * perMinute): Bucket {
  return { capacity: burst, perMinute };
}

/** Returns the limits of a plan on runs and calls in flight; undefined if it has none. */
export function concurrencyOf({ concurrentRuns, operations }: LimitPlan): ConcurrencyLimits | undefined {
  const calls = valuesByOperation(operations, ({ concurrentRequests }) => concurrentRequests);
  if (concurrentRuns === null && Object.keys(calls).length === 0) return undefined;
  return { ...(concurrentRuns !== null && { runs: concurrentRuns }), calls };
}

/** Returns the maximum sizes of the bodies of individual operations, in bytes. */
export function bodyBytesOf({ operations }: LimitPlan): { [operationId: string]: number } {
  return valuesByOperation(operations, ({ bodyBytes }) => bodyBytes);
}

function valuesByOperation(
  operations: LimitPlan['operations'],
  valueOf: (limits: OperationLimits) => number | undefined,
): { [operationId: string]: number } {
  const values = Object.entries(operations).map(([id, limits]) => [id, valueOf(limits)] as const);
  return Object.fromEntries(values.filter((value): value is [string, number] => value[1] !== undefined));
}

/** Returns the time limits of a plan. */
export function timeoutsOf({ syncTimeoutSeconds, asyncTimeoutSeconds }: LimitPlan): RunTimeouts {
  return {
    ...(syncTimeoutSeconds !== null && { syncSeconds: syncTimeoutSeconds }),
    ...(asyncTimeoutSeconds !== null && { asyncSeconds: asyncTimeoutSeconds }),
  };
}
