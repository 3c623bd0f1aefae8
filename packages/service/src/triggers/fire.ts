import { randomUUID } from 'node:crypto';
import type { Release } from '@heddle/api/areas';
import { admitRun } from '@heddle/api/areas';
import type { AreaContext } from '@heddle/api';
import type { JsonObject } from '@heddle/core';
import type { NewReservation, QueuedRun } from '@heddle/api/ports';
import type { Kysely } from 'kysely';
import { addQueued } from '../store/reservations.ts';
import type { TriggerRow, TriggerTables } from './tables.ts';
import type { ScheduleType } from './types.ts';

export type Db = Kysely<TriggerTables>;

/** What starting runs needs of the interface. */
export type FireServices = Pick<
  AreaContext,
  'engine' | 'reservations' | 'limiter' | 'usage' | 'concurrency' | 'policy' | 'now' | 'report'
> & { queue: NonNullable<AreaContext['queue']>; db: Db };

/** A trigger of a live version. */
export type LiveTrigger = TriggerRow & { version: number; engine_version: number };

export function isLive(row: TriggerRow): row is LiveTrigger {
  return row.version !== null && row.engine_version !== null;
}

/** A run that was admitted and is not queued yet. */
export interface AdmittedRun {
  trigger: LiveTrigger;
  dueMs: number;
  run: QueuedRun;
  release: Release | undefined;
}

/**
 * Admits the run that a trigger starts for a due instant, like an asynchronous run that its workspace starts. Throws 402, 403,
 * 429, 503.
 */
export async function admitDue(
  services: FireServices,
  { trigger, type, dueMs }: { trigger: LiveTrigger; type: ScheduleType; dueMs: number },
): Promise<AdmittedRun> {
  const { workspace_id: workspaceId, workflow_id: workflowId } = trigger;
  const runId = randomUUID();
  const request = { runId, workflowId, workspaceId, userId: null, mode: 'async' } as const;
  const release = await admitRun(services, request, workspaceId);
  const { asyncSeconds } = services.policy;
  const start = {
    input: type.inputOf(JSON.parse(trigger.config) as JsonObject, dueMs),
    version: trigger.engine_version,
    start: trigger.block_id,
    ownsFiles: true,
    ...(asyncSeconds !== undefined && { timeoutMs: asyncSeconds * 1000 }),
  } as const;
  return { trigger, dueMs, run: { engineId: runId, runId, workflowId, start }, release };
}

/** Reserves and queues the run in the transaction. */
export async function queueDue(db: Db, { trigger, run }: AdmittedRun, nowMs: number): Promise<void> {
  const { engineId, runId, workflowId, start } = run;
  const reservation: NewReservation = {
    ...{ engineId, runId, workflowId, workspaceId: trigger.workspace_id },
    trigger: 'schedule',
    mode: 'async',
    createdAt: new Date(nowMs).toISOString(),
  };
  await addQueued(db, reservation, start);
}

/** Records the due instant as claimed. False: it was claimed before. */
export async function claimDue(
  db: Db,
  { trigger, dueMs, run }: AdmittedRun,
  nowMs: number,
): Promise<boolean> {
  const { numInsertedOrUpdatedRows: inserted } = await db
    .insertInto('trigger_fires')
    .values({
      ...{ workflow_id: trigger.workflow_id, block_id: trigger.block_id, due_ms: dueMs },
      ...{ run_id: run.engineId, version: trigger.version, claimed_ms: nowMs },
    })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst();
  return Number(inserted ?? 0) > 0;
}
