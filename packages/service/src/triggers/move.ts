import type { AuditStore } from '../store/audit.ts';
import { recordEvents } from './events/outbox.ts';
import type { Db, LiveTrigger } from './fire.ts';
import type { TriggerRow } from './tables.ts';

/** Moves the trigger on, if it still is as it was read and its version is live. Records a suspension. */
export async function moveTrigger(
  db: Db,
  { audit, trigger, change }: { audit: AuditStore; trigger: LiveTrigger; change: Partial<TriggerRow> },
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('triggers')
    .set(change)
    .where('id', '=', trigger.id)
    .where('due_ms', '=', trigger.due_ms)
    .where('fire_ms', '=', trigger.fire_ms)
    .where('version', '=', trigger.version)
    .where('config', '=', trigger.config)
    .where((eb) =>
      eb.exists(
        eb
          .selectFrom('workflows')
          .select('workflows.id')
          .whereRef('workflows.id', '=', 'triggers.workflow_id')
          .whereRef('workflows.active_version', '=', 'triggers.version')
          .where('workflows.archived_at', 'is', null),
      ),
    )
    .executeTakeFirst();
  if (numUpdatedRows === 0n) return false;
  if (change.state === 'suspended') await recordSuspension(audit, db, { trigger, change });
  return true;
}

/** Records that the trigger was suspended: as an event of the workspace, and for the audit. */
export async function recordSuspension(
  audit: AuditStore,
  db: Db,
  { trigger, change }: { trigger: LiveTrigger; change: Partial<TriggerRow> },
): Promise<void> {
  await recordEvents(db, [
    {
      ...{ kind: 'trigger_suspended', workspaceId: trigger.workspace_id, workflowId: trigger.workflow_id },
      ...{ details: { error: change.last_error ?? null }, happenedMs: change.last_check_ms ?? 0 },
    },
  ]);
  await audit.record(
    {
      ...{ action: 'TRIGGER_SUSPENDED', workspaceId: trigger.workspace_id },
      ...{ resourceType: 'trigger', resourceId: trigger.id },
      details: {
        workflowId: trigger.workflow_id,
        blockId: trigger.block_id,
        failures: change.failures,
        error: change.last_error,
      },
    },
    db,
  );
}
