import type { Command } from './command.ts';
import { locate } from './locate.ts';
import type { Region } from './skeleton.ts';
import { isSpan, isWork } from './state.ts';
import type { Cell, Level, State } from './state.ts';

/**
 * True when `command` still waits for its answer in `state`: one of those that `pending` lists, looked up by itself.
 *
 * For drivers that take in several events at once, of which one may answer what an earlier one has asked for. `abort`
 * and `end` wait for no answer.
 */
export function isOwed(region: Region, state: State, command: Command): boolean {
  if (command.type === 'abort' || command.type === 'end' || state.phase === 'ended') return false;
  if (command.type === 'timer' && (command.timer === 'grace' || command.timer === 'deadline'))
    return frameTimerOwed(region, state, command);
  const cell = cellAt(region, state, command.at);
  if (cell === undefined) return false;
  if (isSpan(cell)) return command.type === 'expand' && cell.asking && cell.next === command.turn;
  if (!isWork(cell)) return false;
  if (command.type === 'open') return cell.w === 'pause';
  if (command.type === 'run') return (cell.w === 'run' || cell.w === 'blocked') && cell.try === command.try;
  if (command.type !== 'timer' || !('dueMs' in cell) || cell.dueMs !== command.dueMs) return false;
  return timerOf(cell.w) === command.timer && (cell.w === 'wait' || cell.try === command.try);
}

function timerOf(work: 'run' | 'retry' | 'wait' | 'blocked'): 'timeout' | 'retry' | 'wait' {
  return work === 'retry' || work === 'wait' ? work : 'timeout';
}

function frameTimerOwed(
  region: Region,
  state: State,
  { at, timer, dueMs }: Extract<Command, { type: 'timer' }>,
): boolean {
  if (timer === 'deadline') return state.deadline?.dueMs === dueMs;
  if (at.length === 0) return state.drain?.dueMs === dueMs;
  if (at.length % 2 === 0) return levelAt(region, state, [...at, 0])?.frame.drain?.dueMs === dueMs;
  const cell = cellAt(region, state, at);
  return cell !== undefined && isSpan(cell) && cell.drain?.dueMs === dueMs;
}

function cellAt(region: Region, state: State, at: readonly number[]): Cell | undefined {
  return levelAt(region, state, at)?.frame.cells[at[at.length - 1] as number];
}

function levelAt(region: Region, state: State, at: readonly number[]): Level | undefined {
  return locate(state, { region, frame: state.frame, parent: null, node: -1, turn: 0 }, at)?.level;
}
