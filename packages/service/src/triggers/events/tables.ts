import type { LogTables } from '../../logs/tables.ts';
import type { TriggerTables } from '../tables.ts';

// Times are milliseconds. PostgreSQL returns them as text.

export type EventKind =
  | 'run_ended'
  | 'workflow_deployed'
  | 'workflow_undeployed'
  | 'credential_reconnect'
  | 'credential_changed'
  | 'trigger_suspended';

/** An event. The row is deleted when the runs that the event starts are stored. */
export interface ServiceEventRow {
  id: string;
  workspace_id: string;
  kind: EventKind;
  /** The workflow that the event concerns; null: none. */
  workflow_id: string | null;
  /** The engine's id of the run, or the id of the credential. */
  subject_id: string | null;
  /** Further details as JSON. */
  details: string | null;
  happened_ms: number;
  /** From the same clock as `since_ms` of the watchers. */
  recorded_ms: number;
  /** When the event is handled next. */
  look_ms: number;
  /** Number of failed attempts to handle the event. */
  attempts: number;
}

/** The cooldown of a trigger that has fired for a workflow or credential. */
export interface EventCooldownRow {
  workflow_id: string;
  block_id: string;
  /** Id of the workflow or credential that the event concerned. */
  source_id: string;
  until_ms: number;
}

/** A workflow whose live version has an event trigger. Events of a workspace are recorded only if it has such a workflow. */
export interface EventWatcherRow {
  workflow_id: string;
  workspace_id: string;
  /** Earlier events do not fire the trigger. */
  since_ms: number;
}

export interface EventTables extends TriggerTables {
  service_events: ServiceEventRow;
  event_cooldowns: EventCooldownRow;
  event_watchers: EventWatcherRow;
  run_logs: LogTables['run_logs'];
  run_counts: LogTables['run_counts'];
}
