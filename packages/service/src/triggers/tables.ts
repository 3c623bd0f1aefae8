import type { WebhookRegistrationRow } from './registrations/tables.ts';
import type { AuditRow, ReservationRow, WorkflowRow } from '../store/schema.ts';

// Times are milliseconds. PostgreSQL returns them as strings: see `withNumericTimes`.

/** A trigger of a workflow: its configuration, its next due time, and its health. */
export interface TriggerRow {
  id: string;
  workspace_id: string;
  workflow_id: string;
  block_id: string;
  /** Name of the block. */
  name: string;
  type: string;
  /** JSON. */
  config: string;
  /** The live version for which the trigger is active; null: the workflow has no live version. */
  version: number | null;
  /** The number of that version in the engine. */
  engine_version: number | null;
  state: 'active' | 'paused' | 'suspended';
  /** The earliest due time that is not handled; null: none. */
  due_ms: number | null;
  /** When the due time is handled: after the jitter of the trigger, or after a wait. */
  fire_ms: number | null;
  /**
   * Why the due time waits: the previous run has not ended, or the run could not be started. null: it does not wait.
   */
  held: 'overlap' | 'limits' | null;
  /** Number of failed attempts to start the runs of the due time. */
  attempts: number;
  /** The engine's id of the last run. */
  last_run_id: string | null;
  /** The due time of the last run. */
  last_due_ms: number | null;
  /** When the last run was started. */
  last_fired_ms: number | null;
  /** When the trigger was last checked. */
  last_check_ms: number | null;
  last_error: string | null;
  /** Number of consecutive failures. */
  failures: number;
  /** When the first of the consecutive failures was detected. */
  failing_since_ms: number | null;
  created_ms: number;
}

/** A due time for which a run was started. */
export interface TriggerFireRow {
  workflow_id: string;
  block_id: string;
  due_ms: number;
  /** The engine's id of the run. */
  run_id: string;
  /** The version that was live. */
  version: number;
  claimed_ms: number;
}

export interface TriggerTables {
  triggers: TriggerRow;
  trigger_fires: TriggerFireRow;
  provider_hooks: WebhookRegistrationRow;
  workflows: WorkflowRow;
  claims: ReservationRow;
  audit: AuditRow;
}
