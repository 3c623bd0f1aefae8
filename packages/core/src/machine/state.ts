import type { Address, Event } from './event.ts';
import type { Node, Region } from './skeleton.ts';

/**
 * The state of a run's control flow: JSON, without outputs. Snapshots, migration to another process and recovery use
 * this value, so its keys (`try`, `w` …) are stored and do not change.
 */
export interface State {
  phase: 'running' | 'draining' | 'ended';
  frame: Frame;
  /** Work in flight: running blocks, pending `expand` commands and pending retries. */
  busy: number;
  /** Wait blocks whose timer is running, and children that wait only for a time. */
  timers: number;
  /** Open human pause points, and children that wait for a person. */
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
  /** Set while the clock is stopped: `activeOnly`, and the run waits only for people. */
  leftMs?: number;
  activeOnly: boolean;
}

/** One execution of a region. */
export interface Frame {
  /** Number of nodes that are not settled yet. */
  left: number;
  /** The states of the nodes, by index in the region. */
  cells: NodeState[];
  /** Set on a branch of a parallel that collects errors, after a failure in the branch. */
  drain?: Drain;
}

/**
 * The end phase of a run, container or branch after a failure, after its response, or at run-until: running work may
 * finish, nothing new starts.
 */
export interface Drain {
  why: 'failed' | 'answered' | 'until';
  cause?: Address;
  /** Number of running blocks and pending `expand` commands inside. */
  running: number;
  dueMs: number;
}

/**
 * A node's state in a frame.
 *
 * A number of 2 or more is an idle node: twice the number of sources that are not settled, plus one once a live edge
 * has arrived. `SKIPPED` is 0. A string is a settled node: the port it took. Objects are work and open containers.
 */
export type NodeState = number | string | Work | OpenContainer;

export const SKIPPED = 0;

/** The work in flight of a node. Times are milliseconds since the epoch. */
export type Work =
  /** `resumes`: number of times that the attempt was resumed; absent: 0. */
  | { w: 'run'; try: number; resumes?: number; dueMs?: number }
  | { w: 'retry'; try: number; dueMs: number }
  | { w: 'wait'; dueMs: number }
  /**
   * `try`: the attempt that the answer continues; absent: the answer ends the block. `leftMs`: the remaining time of
   * its timeout.
   */
  | { w: 'pause'; try?: number; resumes?: number; leftMs?: number }
  | { w: 'blocked'; try: number; resumes?: number; on: 'human' | 'time'; dueMs?: number };

/** A container that is running. */
export interface OpenContainer {
  /** Number of iterations or branches opened so far, which is also the number of the next one. */
  next: number;
  /** Total number of iterations or branches; -1 while unknown. */
  count: number;
  /** An `expand` command is pending. */
  asking: boolean;
  /** After a start inside the container: branches below `next` that open first, in reverse order; absent: none. */
  missing?: number[];
  /** Number of open frames. */
  live: number;
  open: { [turn: number]: Frame };
  drain?: Drain;
}

export function isWork(nodeState: NodeState): nodeState is Work {
  return typeof nodeState === 'object' && 'w' in nodeState;
}

export function isOpenContainer(nodeState: NodeState): nodeState is OpenContainer {
  return typeof nodeState === 'object' && 'open' in nodeState;
}

/** Returns the attempt of `work`, with the keys that commands use. */
export function attemptOf(work: { try?: number; resumes?: number }): { try?: number; resumes?: number } {
  const { try: attempt, resumes } = work;
  return {
    ...(attempt !== undefined && { try: attempt }),
    ...(resumes !== undefined && { resumes }),
  };
}

/** Returns true if `event` is about the attempt in flight. An event from before its last resume is late (R30). */
export function isOfAttempt(
  work: Extract<Work, { w: 'run' | 'blocked' }>,
  event: Event,
): event is Extract<Event, { type: 'completed' | 'failed' | 'paused' | 'fired' }> {
  if (!('attempt' in event) || event.type === 'resumed' || event.attempt !== work.try) return false;
  const { resumes } = work;
  if (event.type !== 'fired') return event.resumes === resumes;
  // A resume sets another timer for the same attempt, so the earlier timer is no longer valid.
  const isDue = resumes === undefined || (work.dueMs !== undefined && event.atMs >= work.dueMs);
  return event.timer === 'timeout' && work.dueMs !== undefined && isDue;
}

/** Returns true if `event` answers the pending `expand` command of `container`. */
export function answersExpand(container: OpenContainer, event: Event): boolean {
  if (!container.asking || (event.type !== 'expanded' && event.type !== 'failed')) return false;
  return event.iteration === container.next || (event.type === 'failed' && event.iteration === undefined);
}

/** Removes `work` from the counters of `state`. */
export function removeFromCounters(state: State, work: Work): void {
  if (work.w === 'run' || work.w === 'retry') state.busy--;
  else if (work.w === 'wait' || (work.w === 'blocked' && work.on === 'time')) state.timers--;
  else state.humans--;
}

/** A frame and the path to it: `node` is the container's index in `parent`, `iteration` the iteration or branch. */
export interface FramePath {
  region: Region;
  frame: Frame;
  parent: FramePath | null;
  node: number;
  iteration: number;
}

export function nodeAt(region: Region, index: number): Node {
  return region.nodes[index] as Node;
}

/** Returns the address of the frame: of even length, `[]` for the run's own frame. */
export function frameAddress(framePath: FramePath): number[] {
  const address: number[] = [];
  for (let ancestor: FramePath | null = framePath; ancestor?.parent; ancestor = ancestor.parent)
    address.unshift(ancestor.node, ancestor.iteration);
  return address;
}

export function addressOf(framePath: FramePath, index: number): number[] {
  const address = frameAddress(framePath);
  address.push(index);
  return address;
}

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

/** Whether a run is idle, and what it waits for: a person (`human`) or a timer (`time`). */
export type IdleState = 'running' | 'human' | 'time' | 'ended';

/** Returns whether the run is idle: nothing runs, and it waits for a person or a timer (R25). */
export function idleState(state: State): IdleState {
  if (state.phase === 'ended') return 'ended';
  if (state.busy > 0) return 'running';
  return state.humans > 0 ? 'human' : state.timers > 0 ? 'time' : 'running';
}
