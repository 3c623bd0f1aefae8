import type { LogTables } from '../../logs/tables.ts';
import type { TriggerTables } from '../tables.ts';

// Times are milliseconds. PostgreSQL returns them as text.

/** What has happened. */
export type EventKind =
  | 'run_ended'
  | 'workflow_deployed'
  | 'workflow_undeployed'
  | 'credential_reconnect'
  | 'credential_changed'
  | 'trigger_suspended';

/** Something that has happened, until the runs that it starts are stored. */
export interface ServiceEventRow {
  id: string;
  workspace_id: string;
  kind: EventKind;
  /** The workflow that it is about; null: it is about none. */
  workflow_id: string | null;
  /** The engine's id of the run, or the id of the credential. */
  subject_id: string | null;
  /** What else is known about it, as JSON. */
  details: string | null;
  happened_ms: number;
  /** By the same clock as `since_ms` of the watchers. */
  recorded_ms: number;
  /** When it is handled. */
  look_ms: number;
  /** How often it could not be handled. */
  attempts: number;
}

/** When a trigger that has fired for a workflow may fire for it again. */
export interface EventCooldownRow {
  workflow_id: string;
  block_id: string;
  /** Of the workflow or credential that the event was about. */
  source_id: string;
  until_ms: number;
}

/** A workflow whose live version has a trigger of events. Nothing is recorded for a workspace without one. */
export interface EventWatcherRow {
  workflow_id: string;
  workspace_id: string;
  /** Earlier events do not fire it. */
  since_ms: number;
}

export interface EventTables extends TriggerTables {
  service_events: ServiceEventRow;
  event_cooldowns: EventCooldownRow;
  event_watchers: EventWatcherRow;
  run_logs: LogTables['run_logs'];
  run_counts: LogTables['run_counts'];
}
