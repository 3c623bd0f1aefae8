import type { LogTables } from '../../logs/tables.ts';
import type { TriggerTables } from '../tables.ts';

// Times are milliseconds since the epoch. PostgreSQL returns them as strings.

/** Kinds of events. */
export type EventKind =
  | 'run_ended'
  | 'workflow_deployed'
  | 'workflow_undeployed'
  | 'credential_reconnect'
  | 'credential_changed'
  | 'trigger_suspended';

/** An event, stored until the runs that it starts are stored. */
export interface ServiceEventRow {
  id: string;
  workspace_id: string;
  kind: EventKind;
  /** The workflow to which the event belongs; null: it belongs to none. */
  workflow_id: string | null;
  /** The engine's id of the run, or the id of the credential. */
  subject_id: string | null;
  /** Further details of the event, as JSON. */
  details: string | null;
  happened_ms: number;
  /** When it was recorded, by the same clock as `since_ms` of the watchers. */
  recorded_ms: number;
  /** When the event is due to be handled. */
  look_ms: number;
  /** Number of failed attempts to handle the event. */
  attempts: number;
}

/** A cooldown: until `until_ms`, the trigger does not fire again for the workflow or credential. */
export interface EventCooldownRow {
  workflow_id: string;
  block_id: string;
  /** The id of the workflow or credential. */
  source_id: string;
  until_ms: number;
}

/**
 * A workflow whose live version has an event trigger. No events are recorded for a workspace without such a workflow.
 */
export interface EventWatcherRow {
  workflow_id: string;
  workspace_id: string;
  /** Events that were recorded earlier do not fire its triggers. */
  since_ms: number;
}

export interface EventTables extends TriggerTables {
  service_events: ServiceEventRow;
  event_cooldowns: EventCooldownRow;
  event_watchers: EventWatcherRow;
  run_logs: LogTables['run_logs'];
  run_counts: LogTables['run_counts'];
}
