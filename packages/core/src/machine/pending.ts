import type { Command } from './command.ts';
import { deadlineCommand } from './idle-state.ts';
import type { Region } from './skeleton.ts';
import { isOpenContainer, isWork, nodeAt } from './state.ts';
import type { Drain, Frame, State, Work } from './state.ts';

/**
 * Every command that `state` still waits for an answer to: resume after a crash is this one path.
 *
 * Blocks that were running run again (at least once); timers keep the time they were set for.
 */
export function pendingCommands(region: Region, state: State): Command[] {
  const commands: Command[] = [];
  if (state.phase === 'ended') return commands;
  collectFromFrame(region, state.frame, [], commands);
  collectGraceTimer(state.drain, [], commands);
  if (state.deadline?.dueMs !== undefined) commands.push(deadlineCommand(state.deadline.dueMs));
  return commands;
}

function collectFromFrame(region: Region, frame: Frame, base: readonly number[], commands: Command[]): void {
  frame.cells.forEach((cell, index) => {
    const at = [...base, index];
    if (isWork(cell)) collectFromWork(cell, at, commands);
    if (!isOpenContainer(cell)) return;
    if (cell.asking) commands.push({ type: 'expand', at, turn: cell.next });
    collectGraceTimer(cell.drain, at, commands);
    const body = nodeAt(region, index).subflow?.body as Region;
    for (const [iteration, inner] of Object.entries(cell.open)) {
      collectGraceTimer(inner.drain, [...at, Number(iteration)], commands);
      collectFromFrame(body, inner, [...at, Number(iteration)], commands);
    }
  });
}

function collectFromWork(work: Work, at: number[], commands: Command[]): void {
  if (work.w === 'run' || work.w === 'blocked') {
    commands.push({ type: 'run', at, try: work.try });
    if (work.dueMs !== undefined)
      commands.push({ type: 'timer', at, timer: 'timeout', dueMs: work.dueMs, try: work.try });
  } else if (work.w === 'retry')
    commands.push({ type: 'timer', at, timer: 'retry', dueMs: work.dueMs, try: work.try });
  else if (work.w === 'wait') commands.push({ type: 'timer', at, timer: 'wait', dueMs: work.dueMs });
  else commands.push({ type: 'open', at });
}

function collectGraceTimer(drain: Drain | undefined, at: readonly number[], commands: Command[]): void {
  if (drain) commands.push({ type: 'timer', at, timer: 'grace', dueMs: drain.dueMs });
}
