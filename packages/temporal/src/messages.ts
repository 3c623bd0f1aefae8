import type { Address, Command, Event, Region, StartedEvent, State } from '@heddle/core/machine';
import type { Stored } from '@heddle/core/run';
import type { Owed, Position } from '@heddle/engine/runtime';

/** Version of what a workflow is given and hands on; a worker refuses those it does not know. */
export const INPUT_FORMAT = 1;

/** Workflow type of every run. */
export const RUN_WORKFLOW = 'heddle.run';
/** Activity types that are no block types. */
export const SEGMENT_ACTIVITY = 'heddle.segment';
export const SETTLE_ACTIVITY = 'heddle.settle';
export const CANCEL_SIGNAL = 'heddle.cancel';
export const CHILD_SIGNAL = 'heddle.child';
export const RESUME_UPDATE = 'heddle.resume';

/** What a run's workflow starts with: the plan's control flow, never its data. */
export interface RunInput {
  format: number;
  runId: string;
  planHash: string;
  skeleton: Region;
  profile: Profile;
  /** Block ids to what the Temporal UI is to call them, for blocks that have an activity of their own. */
  effects: { [blockId: string]: { type: string; name: string } };
  begin: { started: StartedEvent } | { carried: Carried };
  labels: Labels;
  parent?: { workflowId: string; at: number[] };
}

/** What people find a run on the server by: never data of its own. */
export interface Labels {
  workflowId: string;
  /** Absent where the server is to know as little as possible. */
  workflowName?: string;
}

/** How a deployment wants its runs to be run. */
export interface Profile {
  /** `segment`: compute blocks are fused; `block`: each has an activity of its own. */
  checkpoint: 'segment' | 'block';
  /** Segments begin as local activities, inside the workflow task. */
  local: boolean;
  /** Task queues of activities. */
  queues: { segments: string; effects: string };
  /** Activities of one run that may be under way at once. */
  window: number;
  /** Commands after which a run continues as a new one. */
  budget: number;
  /** Labels and status are search attributes, which the server must know; else the labels are a memo. */
  attributes?: true;
  /** What the server keeps is encrypted: nothing is said in the open that need not be. */
  sealed?: true;
}

/** What a run takes along when it continues as new. */
export interface Carried {
  state: State;
  seq: number;
  atMs: number;
  tip: string;
  /** Hashes of the tokens of open pause points, by address. */
  tokens: { [address: string]: string };
}

/** A command that an activity carries out. */
export type Asked = Extract<Command, { type: 'run' | 'expand' }>;

export interface SegmentInput {
  runId: string;
  position: Position;
  owed: Owed[];
  /** False: nothing but `owed` is run. */
  beyond: boolean;
  /** Milliseconds after which nothing new begins. */
  softMs: number;
  /** Milliseconds after which what still runs is given up, to be run by a longer segment. */
  hardMs?: number;
  /** Nothing else is under way in the run, and nothing can come in meanwhile: when it ends here, its end is written at once. */
  alone?: true;
}

export interface SegmentResult {
  id: string;
  chunk: Stored;
  events: Coded[];
  /** Child runs that blocks wait for. */
  children: ChildDemand[];
  /** Given up at `hardMs`: blocks are still owed and take long. */
  over: boolean;
  /** The run has ended, and all of it is in the store. */
  written?: true;
}

export interface SettleInput {
  runId: string;
  position: Position;
  /** Why the run cannot go on, though it has not ended. */
  fault?: string;
}

/** A child run that is recorded and has to be started, if it is not running yet. */
export interface ChildDemand {
  at: Address;
  try: number;
  input: RunInput;
}

/** An event as it travels: type, address, time, then what the type has. Tokens of pause points are hashed. */
export type Coded =
  | ['c', Address, number, number, string?]
  | ['f', Address, number, number, boolean, (number | null)?, (number | null)?, (number | null)?]
  | ['e', Address, number, number, number]
  | ['p', Address, number, number, 'human' | 'time', (number | null)?, (string | null)?]
  | ['t', Address, number, string, (number | null)?];

/** A message to a running workflow: an event with its journal entry. */
export interface ResumeMessage {
  at: Address;
  tokenHash: string;
  atMs: number;
  id: string;
  chunk: Stored;
  /** Entries of the journal in which the pause point was seen open. */
  seq?: number;
}

export interface CancelMessage {
  atMs: number;
  id: string;
  chunk: Stored;
  /** The sender cancels the workflow itself next, so that the server shows it as cancelled. */
  announced?: true;
}

export interface ChildMessage {
  at: Address;
  runId: string;
  on: 'human' | 'time' | null;
  atMs: number;
}

/** Something that has happened: events for the machine, with the journal entries that tell them. */
export interface Happened {
  id: string;
  chunk: Stored;
  events: Event[];
  /** Hashed tokens of the pause points that the events open, by index of the event. */
  tokens?: { [index: number]: string };
  /** The run has ended with it, and all of it is in the store. */
  written?: true;
}
