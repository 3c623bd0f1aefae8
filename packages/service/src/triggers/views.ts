import type { JsonObject } from '@heddle/core';
import type * as z from 'zod';
import { isLive } from './fire.ts';
import type { Db, LiveTrigger } from './fire.ts';
import { withNumericTimes } from './rows.ts';
import type * as schemas from './schemas.ts';
import type { TriggerRow } from './tables.ts';

/** A trigger of a live version, with its workflow. */
export type DeployedTrigger = LiveTrigger & JoinedColumns;

/** Data of a trigger from other tables. */
interface JoinedColumns {
  workflowName: string;
  folder_path: string;
  /**
   * Error of the registration at the provider; null: the trigger has no registration, or the registration has no error.
   */
  registrationError: string | null;
  registrationExpiresMs: number | string | null;
}

/**
 * Selects triggers of live versions, with the name and folder of their workflow, and the state of their registration.
 */
export function selectDeployedTriggers(db: Db) {
  return db
    .selectFrom('triggers')
    .innerJoin('workflows', 'workflows.id', 'triggers.workflow_id')
    .leftJoin('provider_hooks', (join) =>
      join
        .onRef('provider_hooks.workflow_id', '=', 'triggers.workflow_id')
        .onRef('provider_hooks.block_id', '=', 'triggers.block_id'),
    )
    .selectAll('triggers')
    .select(['workflows.name as workflowName', 'workflows.folder_path'])
    .select([
      'provider_hooks.error as registrationError',
      'provider_hooks.expires_ms as registrationExpiresMs',
    ])
    .where('workflows.archived_at', 'is', null)
    .where('triggers.version', 'is not', null);
}

/** Returns the row; undefined for a trigger without a live version. */
export function toDeployedTrigger(row: TriggerRow & JoinedColumns): DeployedTrigger | undefined {
  const { workflowName, folder_path, registrationError, registrationExpiresMs } = row;
  const trigger = withNumericTimes(row);
  return isLive(trigger)
    ? { ...trigger, workflowName, folder_path, registrationError, registrationExpiresMs }
    : undefined;
}

/** Returns the trigger as the API represents it. */
export function triggerView(row: DeployedTrigger): z.output<typeof schemas.triggerItem> {
  return {
    ...{ id: row.id, workflowId: row.workflow_id, workflowName: row.workflowName, blockId: row.block_id },
    ...{ name: row.name, type: row.type, version: row.version, state: row.state },
    configuration: configurationOf(row),
    nextDueAt: timeOf(row.due_ms),
    waitsFor: row.held,
    lastDueAt: timeOf(row.last_due_ms),
    lastRunId: row.last_run_id,
    health: {
      lastCheckAt: timeOf(row.last_check_ms),
      lastEventAt: timeOf(row.last_fired_ms),
      expiresAt: timeOf(row.registrationExpiresMs === null ? null : Number(row.registrationExpiresMs)),
      lastError: row.registrationError ?? row.last_error,
      failures: row.failures,
      failingSince: timeOf(row.failing_since_ms),
    },
  };
}

/** Returns the configuration. A literal secret is replaced by null; a reference such as `{{NAME}}` remains. */
function configurationOf({ config }: DeployedTrigger): JsonObject {
  const { secret, ...fields } = JSON.parse(config) as JsonObject;
  if (secret === undefined) return fields;
  const isReference = typeof secret === 'string' && /^\{\{[^{}]+\}\}$/.test(secret);
  return { ...fields, secret: isReference ? secret : null };
}

function timeOf(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}
