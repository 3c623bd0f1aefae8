import { randomUUID } from 'node:crypto';
import { badRequest } from '@heddle/api/areas';
import type { JsonObject } from '@heddle/core';
import { isJsonObject } from '@heddle/core/blocks';
import type { WorkflowBlock } from '@heddle/engine';
import type { Kysely } from 'kysely';
import { jitterOf } from './due-runs.ts';
import { INACTIVITY_CHECK_INTERVAL_MS } from './events/inactivity.ts';
import { lockTriggers, withNumericTimes } from './rows.ts';
import type { TriggerRow, TriggerTables } from './tables.ts';
import type { TriggerType } from './types.ts';

type Db = Kysely<TriggerTables>;

/** A trigger of a version. */
export interface PlannedTrigger {
  blockId: string;
  name: string;
  type: TriggerType;
  config: JsonObject;
}

/** The version that becomes live, with its triggers. */
export interface Activation {
  workflowId: string;
  workspaceId: string;
  version: number;
  engineVersion: number;
  triggers: readonly PlannedTrigger[];
  nowMs: number;
}

/**
 * Returns the triggers of a graph whose types this process supports. `startBlocks` are the blocks at which runs of the
 * graph can start. Throws 400 if a field of a trigger is invalid.
 */
export function planTriggers(
  types: ReadonlyMap<string, TriggerType>,
  blocks: { readonly [id: string]: JsonObject },
  startBlocks: readonly WorkflowBlock[],
): PlannedTrigger[] {
  const problems: string[] = [];
  const plannedTriggers = startBlocks.flatMap(({ blockId, name, type: typeName }): PlannedTrigger[] => {
    const type = types.get(typeName);
    const block = blocks[blockId];
    if (!type || !block) return [];
    const parsed = type.parseConfig(fieldsOf(block));
    if ('config' in parsed) return [{ blockId, name, type, config: parsed.config }];
    problems.push(
      ...parsed.problems.map(({ field, message }) => `the field "${field}" of "${name}" ${message}`),
    );
    return [];
  });
  if (problems.length === 0) return plannedTriggers;
  throw badRequest(`Triggers of the workflow cannot fire: ${problems.join('; ')}`);
}

function fieldsOf(block: JsonObject): JsonObject {
  const { subBlocks } = block;
  const entries = Object.entries(isJsonObject(subBlocks) ? subBlocks : {});
  return Object.fromEntries(
    entries.map(([name, field]) => [name, (isJsonObject(field) ? field['value'] : undefined) ?? null]),
  );
}

/**
 * Makes the triggers of a version the only ones of its workflow, in the transaction that makes the version live. A
 * trigger with the same configuration keeps its due time, so no run is lost or duplicated. Paused triggers remain
 * paused; suspended ones start again.
 */
export async function activateTriggers(db: Db, activation: Activation): Promise<void> {
  const { workflowId, triggers } = activation;
  const unmatchedRows = new Map((await lockRows(db, workflowId)).map((row) => [row.block_id, row]));
  for (const trigger of triggers) {
    const existingRow = unmatchedRows.get(trigger.blockId);
    unmatchedRows.delete(trigger.blockId);
    const row = existingRow ?? newRow(trigger, activation);
    if (!existingRow) await db.insertInto('triggers').values(row).execute();
    await db
      .updateTable('triggers')
      .set(activationColumns(row, trigger, activation))
      .where('id', '=', row.id)
      .execute();
  }
  for (const { id } of unmatchedRows.values()) await db.deleteFrom('triggers').where('id', '=', id).execute();
}

/** Stops the triggers of a workflow that no longer has a live version. */
export async function deactivateTriggers(db: Db, workflowId: string): Promise<void> {
  await db
    .updateTable('triggers')
    .set({ version: null, engine_version: null, ...NOT_DUE_COLUMNS })
    .where('workflow_id', '=', workflowId)
    .execute();
}

/**
 * Stops the triggers of the archived workflows of a workspace. Returns the ids of the workflows whose triggers had a
 * due time.
 */
export async function stopArchivedTriggers(db: Db, workspaceId: string): Promise<string[]> {
  const rows = await db
    .updateTable('triggers')
    .set(NOT_DUE_COLUMNS)
    .where('workspace_id', '=', workspaceId)
    .where('due_ms', 'is not', null)
    .where('workflow_id', 'in', (eb) =>
      eb
        .selectFrom('workflows')
        .select('id')
        .where('workspace_id', '=', workspaceId)
        .where('archived_at', 'is not', null),
    )
    .returning('workflow_id')
    .execute();
  return [...new Set(rows.map(({ workflow_id: id }) => id))];
}

/** Starts the triggers of a restored workflow again. Runs that were due in the meantime are not started. */
export async function startRestoredTriggers(
  db: Db,
  types: ReadonlyMap<string, TriggerType>,
  { workflowId, nowMs }: { workflowId: string; nowMs: number },
): Promise<void> {
  for (const row of await lockRows(db, workflowId)) {
    if (row.version === null || row.state !== 'active') continue;
    await db
      .updateTable('triggers')
      .set(dueColumnsAfter(types, row, nowMs))
      .where('id', '=', row.id)
      .execute();
  }
}

const NOT_DUE_COLUMNS = { due_ms: null, fire_ms: null, held: null, attempts: 0 } as const;

/** Returns the columns of the first due time after `afterMs`. Triggers of an unknown type are not due. */
export function dueColumnsAfter(
  types: ReadonlyMap<string, TriggerType>,
  row: Pick<TriggerRow, 'type' | 'config' | 'workflow_id' | 'block_id'>,
  afterMs: number,
): Pick<TriggerRow, keyof typeof NOT_DUE_COLUMNS> {
  const type = types.get(row.type);
  // A feed is polled immediately, so that existing items can be distinguished from new ones.
  if (type?.kind === 'feed') return { ...NOT_DUE_COLUMNS, due_ms: afterMs, fire_ms: afterMs };
  const config = JSON.parse(row.config) as JsonObject;
  if (type?.kind === 'event' && type.ruleOf(config).event === 'no_activity')
    return {
      ...NOT_DUE_COLUMNS,
      due_ms: afterMs + INACTIVITY_CHECK_INTERVAL_MS,
      fire_ms: afterMs + INACTIVITY_CHECK_INTERVAL_MS,
    };
  if (type?.kind !== 'schedule') return NOT_DUE_COLUMNS;
  const dueMs = type.nextDueTime(config, afterMs);
  if (dueMs === undefined) return NOT_DUE_COLUMNS;
  return { ...NOT_DUE_COLUMNS, due_ms: dueMs, fire_ms: dueMs + jitterOf(type, config, row) };
}

function newRow({ blockId, name, type }: PlannedTrigger, activation: Activation): TriggerRow {
  const { workflowId, workspaceId, nowMs } = activation;
  return {
    ...{ id: randomUUID(), workspace_id: workspaceId, workflow_id: workflowId, block_id: blockId, name },
    ...{
      type: type.type,
      config: '',
      version: null,
      engine_version: null,
      state: 'active',
      ...NOT_DUE_COLUMNS,
    },
    ...{ last_run_id: null, last_due_ms: null, last_fired_ms: null, last_check_ms: null, last_error: null },
    ...{ failures: 0, failing_since_ms: null, created_ms: nowMs },
  };
}

/** Returns the columns that a new live version sets. */
function activationColumns(
  row: TriggerRow,
  { name, type, config }: PlannedTrigger,
  { version, engineVersion, nowMs }: Activation,
): Partial<TriggerRow> {
  const nextRow = { ...row, type: type.type, config: JSON.stringify(config) };
  const columns = {
    name,
    type: nextRow.type,
    config: nextRow.config,
    version,
    engine_version: engineVersion,
  };
  if (row.state === 'paused') return { ...columns, ...NOT_DUE_COLUMNS };
  const healthyColumns = { state: 'active', failures: 0, failing_since_ms: null } as const;
  const wasActive = row.version !== null && row.state === 'active';
  const isUnchanged = wasActive && row.type === nextRow.type && row.config === nextRow.config;
  // The result of a poll for the previous version is discarded, so the next poll need not wait for its lease.
  if (isUnchanged && type.kind === 'feed') return { ...columns, fire_ms: row.due_ms };
  // Runs that were due before the change and are not claimed yet are still started.
  const isOverdue = wasActive && type.kind !== 'feed' && row.due_ms !== null && row.due_ms <= nowMs;
  if (isUnchanged || isOverdue) return columns;
  return { ...columns, ...healthyColumns, ...dueColumnsAfter(new Map([[type.type, type]]), nextRow, nowMs) };
}

async function lockRows(db: Db, workflowId: string): Promise<TriggerRow[]> {
  return (await lockTriggers(db, workflowId).execute()).map(withNumericTimes);
}
