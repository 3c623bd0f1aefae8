import { v7 as createId } from 'uuid';
import type { Release } from '@heddle/api/areas';
import { admitRun } from '@heddle/api/areas';
import type { ApiError, AreaContext } from '@heddle/api';
import type { JsonObject } from '@heddle/core';
import type { NewReservation, QueuedRun } from '@heddle/api/ports';
import type { Kysely } from 'kysely';
import { addQueuedRuns, addQueuedRun } from '../store/reservations.ts';
import { decideEvent } from './flow/decide.ts';
import type { FlowEvent, FlowDecision } from './flow/decide.ts';
import { flowPolicyOf } from './flow/policy.ts';
import { prepareEvent } from './flow/ended-runs.ts';
import type { TriggerRow, TriggerTables } from './tables.ts';
import type { ScheduleType } from './types.ts';

export type Db = Kysely<TriggerTables>;

/** The services of the API that start runs. */
export type FireServices = Pick<
  AreaContext,
  'engine' | 'reservations' | 'limiter' | 'usage' | 'concurrency' | 'timeouts' | 'now' | 'onError'
> & { queue: NonNullable<AreaContext['queue']>; db: Db };

/** A trigger of a live version. */
export type LiveTrigger = TriggerRow & { version: number; engine_version: number };

/** Maximum delay before a refused start is retried. */
const MAX_RETRY_DELAY_MS = 60_000;

/**
 * Returns the delay before the retry of a failed attempt: `firstMs`, doubled for each of the `attempts` earlier
 * failures, up to `maxMs` (default: one minute).
 */
export function retryDelayMs(firstMs: number, attempts: number, maxMs: number = MAX_RETRY_DELAY_MS): number {
  return Math.min(firstMs * 2 ** Math.min(attempts, 20), maxMs);
}

/** Returns the time limit of asynchronous runs as an option of a start. */
export function asyncTimeout({ asyncSeconds }: AreaContext['timeouts']): { timeoutMs?: number } {
  return asyncSeconds === undefined ? {} : { timeoutMs: asyncSeconds * 1000 };
}

/** Returns whether a later attempt to start the run can succeed. */
export function isRetryableRefusal({ status }: ApiError): boolean {
  return status === 429 || status === 503;
}

export function isLive(row: TriggerRow): row is LiveTrigger {
  return row.version !== null && row.engine_version !== null;
}

/** A run that is not queued yet. It is admitted, unless flow control decides when it may start. */
export interface AdmittedRun {
  trigger: LiveTrigger;
  dueMs: number;
  run: QueuedRun;
  release: Release | undefined;
  /** The event, if flow control decides about the run. The run is then admitted when it may start. */
  flowEvent: FlowEvent | undefined;
}

/**
 * Admits the run that a trigger starts for a due time, under the limits of asynchronous runs of its workspace.
 * Throws 402, 403, 429, 503.
 */
export async function admitDueRun(
  services: FireServices,
  { trigger, type, dueMs }: { trigger: LiveTrigger; type: ScheduleType; dueMs: number },
): Promise<AdmittedRun> {
  const { workspace_id: workspaceId, workflow_id: workflowId, block_id: blockId } = trigger;
  const runId = createId();
  const config = JSON.parse(trigger.config) as JsonObject;
  const start = {
    input: type.inputOf(config, dueMs),
    version: trigger.engine_version,
    start: blockId,
    ownsFiles: true,
    ...asyncTimeout(services.timeouts),
  } as const;
  const fields = { trigger, dueMs, run: { engineRunId: runId, runId, workflowId, workspaceId, start } };
  const policy = flowPolicyOf(config);
  if (policy) {
    const ids = { id: createId(), runId, workspaceId, workflowId, blockId };
    const origin = { source: 'schedule', trigger: 'schedule', receivedMs: services.now() } as const;
    const flowEvent = { ...ids, ...origin, policy, start };
    await prepareEvent({ ...services, db: services.db as never }, flowEvent);
    return { ...fields, release: undefined, flowEvent };
  }
  const request = { runId, workflowId, workspaceId, userId: null, mode: 'async' } as const;
  const release = await admitRun(services, request, workspaceId);
  return { ...fields, release, flowEvent: undefined };
}

/**
 * Reserves and queues claimed runs in the transaction. Returns the runs without flow control, which may start
 * immediately.
 */
export async function queueDueRuns(
  db: Db,
  runs: readonly AdmittedRun[],
  nowMs: number,
): Promise<readonly AdmittedRun[]> {
  const immediateRuns = runs.filter(({ flowEvent }) => !flowEvent);
  await addQueuedRuns(
    db,
    immediateRuns.map((run) => ({ reservation: reservationOf(run, nowMs), start: run.run.start })),
  );
  for (const { flowEvent } of runs) if (flowEvent) await decideEvent(db as never, flowEvent);
  return immediateRuns;
}

/**
 * Reserves and queues the run in the transaction. Returns the decision of flow control; undefined if the run may start
 * immediately.
 */
export async function queueDueRun(
  db: Db,
  admittedRun: AdmittedRun,
  nowMs: number,
): Promise<FlowDecision | undefined> {
  if (admittedRun.flowEvent) return decideEvent(db as never, admittedRun.flowEvent);
  await addQueuedRun(db, reservationOf(admittedRun, nowMs), admittedRun.run.start);
  return undefined;
}

function reservationOf({ trigger, run }: AdmittedRun, nowMs: number): NewReservation {
  const { engineRunId, runId, workflowId } = run;
  return {
    ...{ engineRunId, runId, workflowId, workspaceId: trigger.workspace_id },
    ...{ trigger: 'schedule', mode: 'async', createdAt: new Date(nowMs).toISOString() },
  };
}

/**
 * Records the due times as claimed, in one statement. Returns the runs whose due times were not claimed before.
 */
export async function claimDueTimes(
  db: Db,
  runs: readonly AdmittedRun[],
  nowMs: number,
): Promise<readonly AdmittedRun[]> {
  if (runs.length === 0) return [];
  const rows = runs.map(({ trigger, dueMs, run }) => ({
    ...{ workflow_id: trigger.workflow_id, block_id: trigger.block_id, due_ms: dueMs },
    ...{ run_id: run.engineRunId, version: trigger.version, claimed_ms: nowMs },
  }));
  const insertedRows = await db
    .insertInto('trigger_fires')
    .values(rows)
    .onConflict((conflict) => conflict.doNothing())
    .returning('run_id')
    .execute();
  const claimedRunIds = new Set(insertedRows.map(({ run_id: id }) => id));
  return runs.filter(({ run }) => claimedRunIds.has(run.engineRunId));
}
