import type { Event, StartedEvent } from './event.ts';
import { countDown } from './drain.ts';
import { locate } from './locate.ts';
import { cellsFrom } from './prepared.ts';
import { keepDeadline } from './rest.ts';
import type { Region } from './skeleton.ts';
import { cloneState, isSpan, isWork } from './state.ts';
import type { Level, State } from './state.ts';
import { workOff } from './tasks.ts';
import { expire, setDeadline } from './time.ts';
import type { Outcome, Turn } from './turn.ts';
import { answerSpan, answerWork } from './work.ts';

/** The state before the first event. */
export function initialState(): State {
  return { phase: 'running', frame: { left: 0, cells: [] }, busy: 0, timers: 0, humans: 0, graceMs: 0 };
}

/**
 * The state after `event`, and what has come of it; `state` is left as it was.
 *
 * Total: a late or duplicate event gives back the same state and no commands (R30). Drivers that own their state use
 * `advance`, which is this function without the copy.
 */
export function step(region: Region, state: State, event: Event): [State, Outcome] {
  const next = cloneState(state);
  const outcome = advance(region, next, event);
  return [outcome.changed ? next : state, outcome];
}

/** What comes of `event`; changes `state` in place. */
export function advance(region: Region, state: State, event: Event): Outcome {
  const top: Level = { region, frame: state.frame, parent: null, node: -1, turn: 0 };
  const turn: Turn = { state, top, atMs: event.atMs, commands: [], notices: [], tasks: [] };
  const changed = state.phase !== 'ended' && dispatch(turn, event);
  if (changed) {
    workOff(turn);
    keepDeadline(turn);
  }
  return { commands: turn.commands, notices: turn.notices, changed };
}

function dispatch(turn: Turn, event: Event): boolean {
  if (event.type === 'started') return begin(turn, event);
  if (event.type === 'cancelled') {
    // R29
    turn.tasks.push({ do: 'end', status: 'cancelled' });
    return true;
  }
  if (event.type === 'fired' && (event.timer === 'deadline' || event.timer === 'grace'))
    return expire(turn, event);
  return answer(turn, event);
}

/** R1: a run starts at one block; what that block does not reach takes no part. */
function begin(turn: Turn, event: StartedEvent): boolean {
  const { state, top } = turn;
  if (state.frame.cells.length > 0 || top.region.nodes[event.start] === undefined) return false;
  Object.assign(state.frame, cellsFrom(top.region, event.start));
  state.graceMs = event.graceMs;
  if (event.until !== undefined) state.until = event.until;
  setDeadline(turn, event);
  turn.tasks.push({ do: 'start', level: top, index: event.start });
  return true;
}

/** An event that is about the node at its address. */
function answer(turn: Turn, event: Exclude<Event, { type: 'started' | 'cancelled' }>): boolean {
  const found = event.at.length % 2 === 1 ? locate(turn.state, turn.top, event.at) : undefined;
  const index = event.at[event.at.length - 1] as number;
  const cell = found?.level.frame.cells[index];
  if (!found || cell === undefined) return false;
  if (found.draining) return countDown(turn, found, index, event);
  if (isSpan(cell)) return answerSpan(turn, found.level, index, event);
  return isWork(cell) && answerWork(turn, found.level, index, event);
}
