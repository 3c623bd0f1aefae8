import type { Command } from './command.ts';
import { locate } from './locate.ts';
import type { Region } from './skeleton.ts';
import { isOpenContainer, isWork } from './state.ts';
import type { Cell, Level, State, Work } from './state.ts';

/** Commands that wait for an answer. */
type AnsweredCommand = Exclude<Command, { type: 'abort' | 'end' }>;

/**
 * True when `command` still waits for its answer in `state`: one of those that `pending` lists, looked up by itself.
 *
 * For drivers that take in several events at once, of which one may answer what an earlier one has asked for. `abort`
 * and `end` wait for no answer.
 */
export function isPending(region: Region, state: State, command: Command): boolean {
  if (command.type === 'abort' || command.type === 'end') return false;
  if (command.type === 'timer' && (command.timer === 'grace' || command.timer === 'deadline'))
    return isFrameTimerPending(region, state, command);
  const cell = cellAt(region, state, command.at);
  if (cell === undefined) return false;
  if (isOpenContainer(cell)) return command.type === 'expand' && cell.asking && cell.next === command.turn;
  return isWork(cell) && isAwaitedBy(cell, command);
}

function isAwaitedBy(work: Work, command: AnsweredCommand): boolean {
  if (command.type === 'open') return work.w === 'pause';
  if (command.type === 'run') return (work.w === 'run' || work.w === 'blocked') && work.try === command.try;
  if (command.type === 'expand' || work.w === 'pause' || work.dueMs !== command.dueMs) return false;
  return TIMER_OF_WORK[work.w] === command.timer && (work.w === 'wait' || work.try === command.try);
}

/** The timer that work of each kind has set. */
const TIMER_OF_WORK = { run: 'timeout', blocked: 'timeout', retry: 'retry', wait: 'wait' } as const;

function isFrameTimerPending(
  region: Region,
  state: State,
  { at, timer, dueMs }: Extract<Command, { type: 'timer' }>,
): boolean {
  if (timer === 'deadline') return state.deadline?.dueMs === dueMs;
  if (at.length === 0) return state.drain?.dueMs === dueMs;
  if (at.length % 2 === 0) return levelAt(region, state, [...at, 0])?.frame.drain?.dueMs === dueMs;
  const cell = cellAt(region, state, at);
  return cell !== undefined && isOpenContainer(cell) && cell.drain?.dueMs === dueMs;
}

function cellAt(region: Region, state: State, at: readonly number[]): Cell | undefined {
  return levelAt(region, state, at)?.frame.cells[at[at.length - 1] as number];
}

function levelAt(region: Region, state: State, at: readonly number[]): Level | undefined {
  return locate(state, { region, frame: state.frame, parent: null, node: -1, iteration: 0 }, at)?.level;
}
