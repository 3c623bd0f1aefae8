import type { Address, Command, Event, Region, StartedEvent, State } from '@heddle/core/machine';
import type { StoredValue } from '@heddle/core/run';
import type { PendingCommand, Position } from '@heddle/engine/runtime';

/** Newest format of workflow inputs. A worker rejects newer formats. Format 2: the run starts inside a container. */
export const INPUT_FORMAT = 2;

/** Workflow type of every run. */
export const RUN_WORKFLOW = 'heddle.run';
/** Activity type of segments (compute blocks that share one activity). Effect blocks use their block type instead. */
export const SEGMENT_ACTIVITY = 'heddle.segment';
/** Activity type that writes a run's journal, record and logs. */
export const SETTLE_ACTIVITY = 'heddle.settle';
/** Type of the failure with which the workflow of a failed run ends. The failure itself is in the run's record. */
export const RUN_FAILED = 'RUN_FAILED';
export const CANCEL_SIGNAL = 'heddle.cancel';
export const CHILD_SIGNAL = 'heddle.child';
export const RESUME_UPDATE = 'heddle.resume';

/** Input of a run's workflow: the plan's control flow, without data. */
export interface RunInput {
  format: number;
  runId: string;
  planHash: string;
  skeleton: Region;
  profile: Profile;
  /** Type and name of each effect block, by block id. They become the type and the summary of its activity. */
  effects: { [blockId: string]: { type: string; name: string } };
  begin: { started: StartedEvent } | { carried: CarriedState };
  labels: Labels;
  parent?: { workflowId: string; at: number[] };
}

/** Labels by which people find a run on the server. They contain no data of the run. */
export interface Labels {
  workflowId: string;
  /** Absent with encryption. */
  workflowName?: string;
}

/** The settings with which a deployment executes its runs. */
export interface Profile {
  /** `segment`: compute blocks share activities; `block`: each block has its own. */
  checkpoint: 'segment' | 'block';
  /** Segments start as local activities, within the workflow task. */
  local: boolean;
  /** Task queues of activities. */
  queues: { segments: string; effects: string };
  /** Maximum number of concurrent activities of one run. */
  window: number;
  /** Commands after which a run continues as new. */
  budget: number;
  /** Labels and status are search attributes, which must be registered. Absent: the labels are in a memo. */
  attributes?: true;
  /** Payloads are encrypted, so names must not be in data that the server can read. */
  sealed?: true;
}

/** The state that a run carries over when it continues as new. */
export interface CarriedState {
  state: State;
  seq: number;
  atMs: number;
  /** Id of the last item of the journal; `start` if only the first entry exists. */
  tip: string;
  /** Hashes of the tokens of open pause points, by address. */
  tokens: { [address: string]: string };
  /**
   * Indexes into the pending commands of `state`: commands that were issued but not started yet, in the order in which
   * they were issued (R6 in docs/semantics.md). Absent: in the order of the state.
   */
  order?: number[];
}

/** A command that an activity executes. */
export type ActivityCommand = Extract<Command, { type: 'run' | 'expand' }>;

export interface SegmentActivityInput {
  runId: string;
  position: Position;
  /** The pending commands that the activity executes. */
  owed: PendingCommand[];
  /** False: run only `owed`, without the blocks that follow. */
  beyond: boolean;
  /** Milliseconds after which no further block starts. */
  softMs: number;
  /**
   * Milliseconds after which the activity returns. Running blocks continue in its process, until a regular activity
   * takes them over.
   */
  hardMs?: number;
  /** True: nothing else of the run is pending. If the run ends in this segment, the segment writes the end. */
  alone?: true;
}

export interface SegmentActivityResult {
  id: string;
  chunk: StoredValue;
  events: EncodedEvent[];
  /** Child runs to start. */
  children: ChildStart[];
  /** True: the activity ended at `hardMs`, before slow blocks ended. */
  over: boolean;
  /** True: the run has ended, and the store has all its data. */
  written?: true;
}

export interface SettleActivityInput {
  runId: string;
  position: Position;
  /** The reason why the run stopped although it has not ended. */
  fault?: string;
}

/** A recorded child run to start, unless it is running already. */
export interface ChildStart {
  at: Address;
  try: number;
  resumes?: number;
  input: RunInput;
}

/**
 * An event in compact form. The types are `c` (completed), `f` (failed), `e` (expanded), `p` (paused) and `t` (a timer
 * has fired). Tokens of pause points are hashed.
 */
export type EncodedEvent =
  | [type: 'c', at: Address, atMs: number, attempt: number, port?: string | null, resumes?: number | null]
  | [
      type: 'f',
      at: Address,
      atMs: number,
      attempt: number,
      retryable: boolean,
      iteration?: number | null,
      retryAfterMs?: number | null,
      jitter?: number | null,
      resumes?: number | null,
    ]
  | [type: 'e', at: Address, atMs: number, iteration: number, count: number]
  | [
      type: 'p',
      at: Address,
      atMs: number,
      attempt: number,
      kind: 'human' | 'time',
      dueMs?: number | null,
      tokenHash?: string | null,
      resumes?: number | null,
      continues?: 1 | null,
    ]
  | [type: 't', at: Address, atMs: number, timer: string, attempt?: number | null];

/** Argument of the update that resumes a run: the answer to a pause point, with its journal entry. */
export interface ResumeMessage {
  at: Address;
  /** Identifies the pause of a block that can pause several times. */
  attempt?: number;
  resumes?: number;
  tokenHash: string;
  atMs: number;
  id: string;
  chunk: StoredValue;
  /** Length of the journal in which the caller saw the pause point open. */
  seq?: number;
}

/** Argument of the signal that cancels a run, with the journal entry. */
export interface CancelMessage {
  atMs: number;
  id: string;
  chunk: StoredValue;
  /** The sender requests the workflow's cancellation next, so that the server shows it as cancelled. */
  announced?: true;
}

/** Argument of the signal with which a child run reports what it waits for. */
export interface ChildMessage {
  /** Address of the block that called the child run. */
  at: Address;
  /** Id of the child run. */
  runId: string;
  /** Null: the child run is running. */
  on: 'human' | 'time' | null;
  atMs: number;
}

/** Events for the machine, with their journal entries. */
export interface EventBatch {
  id: string;
  chunk: StoredValue;
  events: Event[];
  /** Token hashes of the pause points that the events open, by index of the event. */
  tokens?: { [index: number]: string };
  /** True: the run has ended with these events, and the store has all its data. */
  written?: true;
}
