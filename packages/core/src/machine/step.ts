import type { Event, StartedEvent } from './event.ts';
import { updateDraining } from './drain.ts';
import { locate } from './locate.ts';
import { cellsFrom } from './prepared.ts';
import { updateDeadline } from './idle-state.ts';
import type { Region } from './skeleton.ts';
import { cloneState, isOpenContainer, isWork } from './state.ts';
import type { Level, State } from './state.ts';
import { runTasks } from './tasks.ts';
import { expire, setDeadline } from './time.ts';
import type { StepResult, StepContext } from './step-context.ts';
import { updateContainer, updateWork } from './work.ts';

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
export function step(region: Region, state: State, event: Event): [State, StepResult] {
  const next = cloneState(state);
  const outcome = advance(region, next, event);
  return [outcome.changed ? next : state, outcome];
}

/** What comes of `event`; changes `state` in place. */
export function advance(region: Region, state: State, event: Event): StepResult {
  const root: Level = { region, frame: state.frame, parent: null, node: -1, iteration: 0 };
  const context: StepContext = { state, root, atMs: event.atMs, commands: [], notices: [], tasks: [] };
  const changed = state.phase !== 'ended' && dispatch(context, event);
  if (changed) {
    runTasks(context);
    updateDeadline(context);
  }
  return { commands: context.commands, notices: context.notices, changed };
}

function dispatch(context: StepContext, event: Event): boolean {
  if (event.type === 'started') return begin(context, event);
  if (event.type === 'cancelled') {
    // R29
    context.tasks.push({ do: 'end', status: 'cancelled' });
    return true;
  }
  if (event.type === 'fired' && (event.timer === 'deadline' || event.timer === 'grace'))
    return expire(context, event);
  return answer(context, event);
}

/** R1: a run starts at one block; what that block does not reach takes no part. */
function begin(context: StepContext, event: StartedEvent): boolean {
  const { state, root } = context;
  if (state.frame.cells.length > 0 || root.region.nodes[event.start] === undefined) return false;
  Object.assign(state.frame, cellsFrom(root.region, event.start));
  state.graceMs = event.graceMs;
  if (event.until !== undefined) state.until = event.until;
  setDeadline(context, event);
  context.tasks.push({ do: 'start', level: root, index: event.start });
  return true;
}

/** An event that is about the node at its address. */
function answer(context: StepContext, event: Exclude<Event, { type: 'started' | 'cancelled' }>): boolean {
  const found = event.at.length % 2 === 1 ? locate(context.state, context.root, event.at) : undefined;
  const index = event.at[event.at.length - 1] as number;
  const cell = found?.level.frame.cells[index];
  if (!found || cell === undefined) return false;
  if (found.draining) return updateDraining(context, found, index, event);
  if (isOpenContainer(cell)) return updateContainer(context, found.level, index, event);
  return isWork(cell) && updateWork(context, found.level, index, event);
}
