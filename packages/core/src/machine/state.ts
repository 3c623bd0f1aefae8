import type { Address, Event } from './event.ts';
import type { Node, Region } from './skeleton.ts';

/** The state of a run's control flow: JSON, without outputs. A run rests, moves house and restarts as this value. */
export interface State {
  phase: 'running' | 'draining' | 'ended';
  frame: Frame;
  /** Work in flight: blocks running, containers asked, tries waited for. */
  busy: number;
  /** Timers of wait blocks (and of children that only wait). */
  timers: number;
  /** Open human pause points (and of children). */
  humans: number;
  graceMs: number;
  until?: number;
  drain?: Drain;
  deadline?: Deadline;
  end?: { status: 'completed' | 'failed' | 'cancelled' };
}

export interface Deadline {
  /** Set while the clock runs. */
  dueMs?: number;
  /** Set while it stands still (`activeOnly`, and only a person can move the run). */
  leftMs?: number;
  activeOnly: boolean;
}

/** One activation of a region. */
export interface Frame {
  /** Nodes that are not settled yet. */
  left: number;
  cells: Cell[];
  /** Branch of a parallel that collects errors: given up after a failure in it. */
  drain?: Drain;
}

/** What is left to finish of something that is given up (failed, answered, or ended by run-until): nothing new starts in it. */
export interface Drain {
  why: 'failed' | 'answered' | 'until';
  cause?: Address;
  /** Work still in flight inside. */
  running: number;
  dueMs: number;
}

/**
 * A node's state in a frame.
 *
 * A number of 2 or more is an idle node: in-sources still open times two, plus one when a live edge has arrived.
 * `SKIPPED` is 0. A string is a settled node: the port it took. Objects are work and open containers.
 */
export type Cell = number | string | Work | OpenContainer;

export const SKIPPED = 0;

/** What a node is busy with. Times are milliseconds since the epoch. */
export type Work =
  | { w: 'run'; try: number; dueMs?: number }
  | { w: 'retry'; try: number; dueMs: number }
  | { w: 'wait'; dueMs: number }
  | { w: 'pause' }
  | { w: 'blocked'; try: number; on: 'human' | 'time'; dueMs?: number };

/** An open container. */
export interface OpenContainer {
  /** Turns or branches opened so far: also the number of the next one. */
  next: number;
  /** Turns or branches in all; -1 while unknown. */
  count: number;
  /** An `expand` command is out. */
  asking: boolean;
  /** How many frames are open. */
  live: number;
  open: { [turn: number]: Frame };
  drain?: Drain;
}

export function isWork(cell: Cell): cell is Work {
  return typeof cell === 'object' && 'w' in cell;
}

export function isOpenContainer(cell: Cell): cell is OpenContainer {
  return typeof cell === 'object' && 'open' in cell;
}

/** True when `event` answers the `expand` command that `span` has out. */
export function answersExpand(span: OpenContainer, event: Event): boolean {
  if (!span.asking || (event.type !== 'expanded' && event.type !== 'failed')) return false;
  return event.iteration === span.next || (event.type === 'failed' && event.iteration === undefined);
}

/** Takes `work` out of the counters of `state`. */
export function removeFromCounters(state: State, work: Work): void {
  if (work.w === 'run' || work.w === 'retry') state.busy--;
  else if (work.w === 'wait' || (work.w === 'blocked' && work.on === 'time')) state.timers--;
  else state.humans--;
}

/** A frame with the way to it: `node` is the container's index in `parent`, `turn` its turn or branch. */
export interface Level {
  region: Region;
  frame: Frame;
  parent: Level | null;
  node: number;
  iteration: number;
}

export function nodeAt(region: Region, index: number): Node {
  return region.nodes[index] as Node;
}

/** Address of the frame of `level`: even length, `[]` for the run's own. */
export function frameAddress(level: Level): number[] {
  const address: number[] = [];
  for (let at: Level | null = level; at?.parent; at = at.parent) address.unshift(at.node, at.iteration);
  return address;
}

export function addressOf(level: Level, index: number): number[] {
  const address = frameAddress(level);
  address.push(index);
  return address;
}

/** A deep copy, sharing nothing. */
export function cloneState(state: State): State {
  return clone(state) as State;
}

function clone(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(clone);
  if (typeof value !== 'object' || value === null) return value;
  const copy: Record<string, unknown> = {};
  for (const key of Object.keys(value)) copy[key] = clone((value as Record<string, unknown>)[key]);
  return copy;
}
