import { AuditStore } from '../store/audit.ts';
import { compiledTransactionQuery } from '../store/compiled-query.ts';
import { recordEvents } from './events/outbox.ts';
import type { Db, LiveTrigger } from './fire.ts';
import type { TriggerRow, TriggerTables } from './tables.ts';

/** A change to a trigger that was read earlier. */
export interface TriggerUpdate {
  trigger: LiveTrigger;
  change: Partial<TriggerRow>;
}

/** The columns that tell whether a trigger has changed since it was read. */
type ComparedColumns = Pick<TriggerRow, 'id' | 'due_ms' | 'fire_ms' | 'version' | 'config'>;

/**
 * Writes the change, and records it if it suspends the trigger. Returns false, and writes nothing, if the trigger has
 * changed since it was read or its version is not live.
 */
export async function advanceTrigger(db: Db, { trigger, change }: TriggerUpdate): Promise<boolean> {
  const { numUpdatedRows } = await updateIfUnchanged(db, trigger).set(change).executeTakeFirst();
  if (numUpdatedRows === 0n) return false;
  await recordIfSuspended(db, { trigger, change });
  return true;
}

/** Columns that a schedule changes when it advances. */
const SCHEDULE_COLUMNS = [
  ...(['due_ms', 'fire_ms', 'held', 'attempts', 'last_run_id', 'last_due_ms', 'last_fired_ms'] as const),
  ...(['last_check_ms', 'last_error', 'failures', 'failing_since_ms', 'state'] as const),
];

/**
 * Returns a variant of `advanceTrigger` whose statement is compiled once for many triggers of one database. It writes
 * all columns that a schedule changes; columns without a value in `change` keep the value that was read.
 */
export function createTriggerAdvancer(): (db: Db, update: TriggerUpdate) => Promise<boolean> {
  const placeholder = { id: '', due_ms: 0, fire_ms: 0, version: 0, config: '' };
  const update = compiledTransactionQuery<TriggerTables, { id: string }>((db) =>
    updateIfUnchanged(db, placeholder)
      .set(Object.fromEntries(SCHEDULE_COLUMNS.map((column) => [column, null])))
      .returning('id'),
  );
  return async (db, { trigger, change }) => {
    const changedTrigger = { ...trigger, ...change };
    const { id, due_ms, fire_ms, version, config } = trigger;
    const values = [
      ...SCHEDULE_COLUMNS.map((column) => changedTrigger[column]),
      id,
      due_ms,
      fire_ms,
      version,
      config,
    ];
    const updatedRows = await update(db, values);
    if (updatedRows.length === 0) return false;
    await recordIfSuspended(db, { trigger, change });
    return true;
  };
}

function updateIfUnchanged(db: Db, { id, due_ms, fire_ms, version, config }: ComparedColumns) {
  return db
    .updateTable('triggers')
    .where('id', '=', id)
    .where('due_ms', '=', due_ms)
    .where('fire_ms', '=', fire_ms)
    .where('version', '=', version)
    .where('config', '=', config)
    .where((eb) =>
      eb.exists(
        eb
          .selectFrom('workflows')
          .select('workflows.id')
          .whereRef('workflows.id', '=', 'triggers.workflow_id')
          .whereRef('workflows.active_version', '=', 'triggers.version')
          .where('workflows.archived_at', 'is', null),
      ),
    );
}

async function recordIfSuspended(db: Db, update: TriggerUpdate): Promise<void> {
  if (update.change.state === 'suspended') await recordSuspension(db, update);
}

/** Records that a trigger was suspended: as an event of the workspace, and in the audit log. */
export async function recordSuspension(
  db: Db,
  { trigger, change }: { trigger: TriggerRow; change: Partial<TriggerRow> },
): Promise<void> {
  const { id, workspace_id: workspaceId, workflow_id: workflowId, block_id: blockId } = trigger;
  const { failures, last_error: error = null, last_check_ms: checkedMs } = change;
  await recordEvents(db, [
    { kind: 'trigger_suspended', workspaceId, workflowId, details: { error }, happenedMs: checkedMs ?? 0 },
  ]);
  await new AuditStore(db as never).record({
    ...{ action: 'TRIGGER_SUSPENDED', workspaceId, resourceType: 'trigger', resourceId: id },
    details: { workflowId, blockId, failures, error },
  });
}
