import type { ReservationRow, WorkflowRow } from '../../store/schema.ts';
import type { TriggerRow } from '../tables.ts';

// Times are milliseconds. PostgreSQL returns them as strings.

/** A group of events that share the limits of flow control. A transaction that decides about them locks the row. */
export interface FlowGroupRow {
  id: string;
  /** The `seq` of the last run that was added. */
  last_seq: number;
  touched_ms: number;
}

/** The reason why a run waits. */
export type HoldReason =
  | 'debounce'
  | 'batch'
  | 'throttle'
  | 'concurrency'
  | 'singleton'
  | 'limits'
  | 'paused';

/** A run that flow control holds or has started. */
export interface FlowRunRow {
  /** The engine's id of the run. */
  run_id: string;
  group_id: string;
  /** Position of the run among the runs of its group. */
  seq: number;
  workspace_id: string;
  workflow_id: string;
  block_id: string;
  /**
   * `collecting`: further events are added; `held`: it waits; `active`: it counts against a limit until it has ended.
   */
  state: 'collecting' | 'held' | 'active' | 'ended';
  reason: HoldReason | null;
  /** When the run is checked again; null: when the previous run has started. */
  look_ms: number | null;
  /** When a `collecting` run stops collecting events at the latest. */
  until_ms: number | null;
  /** Number of the events of the run. */
  events: number;
  /** Number of bytes of the inputs of these events. */
  bytes: number;
  attempts: number;
  created_ms: number;
  started_ms: number | null;
}

/** The state of an event. */
export type FlowState = 'waiting' | 'started' | 'merged' | 'dropped';

/** An event with the decision of flow control. */
export interface FlowEventRow {
  id: string;
  /** The run that the event starts; for a dropped event, the run that caused the drop. */
  run_id: string;
  workspace_id: string;
  workflow_id: string;
  block_id: string;
  source: 'schedule' | 'webhook' | 'event' | 'feed';
  key: string;
  state: FlowState;
  /** Why the event waits, was merged or was dropped. */
  reason: string | null;
  /** The position of the event in a batch, from 1. */
  position: number | null;
  /** The input of the event as JSON, while the event waits in a batch. */
  input: string | null;
  bytes: number;
  received_ms: number;
  decided_ms: number | null;
}

export interface FlowTables {
  flow_groups: FlowGroupRow;
  flow_runs: FlowRunRow;
  flow_events: FlowEventRow;
  triggers: TriggerRow;
  workflows: WorkflowRow;
  claims: ReservationRow;
}
