import type { ReservationRow, WorkflowRow } from '../../store/schema.ts';
import type { WebhookRegistrationRow } from '../registrations/tables.ts';
import type { TriggerRow } from '../tables.ts';

// Times are milliseconds. PostgreSQL returns them as strings.

/**
 * The path of a webhook. It remains reserved for its workspace after the webhook was removed, because its sender may
 * still use it.
 */
export interface WebhookPathRow {
  path: string;
  workspace_id: string;
  workflow_id: string;
  block_id: string;
  /** 1: the current path of the webhook; 0: an earlier path. */
  is_current: number;
}

/** An accepted delivery. */
export interface DeliveryRow {
  id: string;
  workspace_id: string;
  workflow_id: string;
  block_id: string;
  /** The sender's id; null: it has none, or the row is a replay. */
  delivery_id: string | null;
  /** Name of the event. */
  event: string | null;
  /** The engine's id of the run. */
  run_id: string;
  /** The version that was live. */
  version: number;
  method: string;
  content_type: string;
  bytes: number;
  received_ms: number;
  /** Number of duplicates of the delivery. */
  duplicates: number;
  last_duplicate_ms: number | null;
  /** The id of the delivery that was replayed. */
  replay_of: string | null;
}

/** Requests that started no run, counted by reason. */
export interface RefusalRow {
  workflow_id: string;
  block_id: string;
  reason: string;
  count: number;
  first_ms: number;
  last_ms: number;
}

export interface WebhookTables {
  webhook_paths: WebhookPathRow;
  webhook_deliveries: DeliveryRow;
  webhook_refusals: RefusalRow;
  triggers: TriggerRow;
  provider_hooks: WebhookRegistrationRow;
  workflows: WorkflowRow;
  claims: ReservationRow;
}
