import type { Command } from './command.ts';
import { deadlineTimer } from './rest.ts';
import type { Region } from './skeleton.ts';
import { isSpan, isWork, nodeAt } from './state.ts';
import type { Drain, Frame, State, Work } from './state.ts';

/**
 * Every command that `state` still waits for an answer to: resume after a crash is this one path.
 *
 * Blocks that were running run again (at least once); timers keep the time they were set for.
 */
export function pending(region: Region, state: State): Command[] {
  const commands: Command[] = [];
  if (state.phase === 'ended') return commands;
  owedBy(region, state.frame, [], commands);
  grace(state.drain, [], commands);
  if (state.deadline?.dueMs !== undefined) commands.push(deadlineTimer(state.deadline.dueMs));
  return commands;
}

function owedBy(region: Region, frame: Frame, base: readonly number[], commands: Command[]): void {
  frame.cells.forEach((cell, index) => {
    const at = [...base, index];
    if (isWork(cell)) owedFor(cell, at, commands);
    if (!isSpan(cell)) return;
    if (cell.asking) commands.push({ type: 'expand', at, turn: cell.next });
    grace(cell.drain, at, commands);
    const body = nodeAt(region, index).subflow?.body as Region;
    for (const [turn, inner] of Object.entries(cell.open)) {
      grace(inner.drain, [...at, Number(turn)], commands);
      owedBy(body, inner, [...at, Number(turn)], commands);
    }
  });
}

function owedFor(work: Work, at: number[], commands: Command[]): void {
  if (work.w === 'run' || work.w === 'blocked') {
    commands.push({ type: 'run', at, try: work.try });
    if (work.dueMs !== undefined)
      commands.push({ type: 'timer', at, timer: 'timeout', dueMs: work.dueMs, try: work.try });
  } else if (work.w === 'retry')
    commands.push({ type: 'timer', at, timer: 'retry', dueMs: work.dueMs, try: work.try });
  else if (work.w === 'wait') commands.push({ type: 'timer', at, timer: 'wait', dueMs: work.dueMs });
  else commands.push({ type: 'open', at });
}

function grace(drain: Drain | undefined, at: readonly number[], commands: Command[]): void {
  if (drain) commands.push({ type: 'timer', at, timer: 'grace', dueMs: drain.dueMs });
}
