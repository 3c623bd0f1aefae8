import { v7 as createId } from 'uuid';
import type { JsonObject } from '@heddle/core';
import type { Kysely } from 'kysely';
import type { Activation } from '../activation.ts';
import type { EventKind, EventTables } from './tables.ts';

type Db = Kysely<EventTables>;

/** An event in a workspace. */
export interface ServiceEvent {
  kind: EventKind;
  workspaceId: string;
  workflowId?: string;
  /** The engine's id of the run, or the id of the credential. */
  subjectId?: string;
  details?: JsonObject;
  happenedMs: number;
}

/** Records events in the transaction that causes them. Events of workspaces without an event trigger are skipped. */
export async function recordEvents(transaction: unknown, events: readonly ServiceEvent[]): Promise<void> {
  if (events.length === 0) return;
  const db = transaction as Db;
  const watchedRows = await db
    .selectFrom('event_watchers')
    .select('workspace_id')
    .distinct()
    .where('workspace_id', 'in', [...new Set(events.map(({ workspaceId }) => workspaceId))])
    .execute();
  const watchedWorkspaceIds = new Set(watchedRows.map(({ workspace_id: id }) => id));
  const rows = events
    .filter(({ workspaceId }) => watchedWorkspaceIds.has(workspaceId))
    .map((event) => ({
      ...{ id: createId(), workspace_id: event.workspaceId, kind: event.kind },
      ...{ workflow_id: event.workflowId ?? null, subject_id: event.subjectId ?? null },
      details: event.details ? JSON.stringify(event.details) : null,
      // `look_ms` 0: due immediately. `happened_ms` may come from the clock of another process, and be in the future.
      ...{ happened_ms: event.happenedMs, recorded_ms: Date.now(), look_ms: 0, attempts: 0 },
    }));
  if (rows.length > 0) await db.insertInto('service_events').values(rows).execute();
}

/**
 * Records whether the live version of a workflow has an event trigger, in the transaction that makes the version live.
 */
export async function activateEvents(
  transaction: unknown,
  { workflowId, workspaceId, triggers }: Pick<Activation, 'workflowId' | 'workspaceId' | 'triggers'>,
): Promise<void> {
  const db = transaction as Db;
  if (!triggers.some(({ type }) => type.kind === 'event')) return deactivateEvents(db, workflowId);
  await db
    .insertInto('event_watchers')
    .values({ workflow_id: workflowId, workspace_id: workspaceId, since_ms: Date.now() })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

/** Records that the workflow no longer has a live version with an event trigger. */
export async function deactivateEvents(transaction: unknown, workflowId: string): Promise<void> {
  await (transaction as Db).deleteFrom('event_watchers').where('workflow_id', '=', workflowId).execute();
}
