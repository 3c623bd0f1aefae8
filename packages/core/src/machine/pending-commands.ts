import type { Command } from './command.ts';
import { deadlineCommand } from './deadline.ts';
import { nodeStateAt, locate, rootFramePath } from './locate.ts';
import type { Region } from './skeleton.ts';
import { attemptOf, isOpenContainer, isWork, nodeAt } from './state.ts';
import type { Drain, Frame, State, Work } from './state.ts';

/**
 * Returns every command that `state` still waits for. Recovery after a crash carries out exactly these commands.
 *
 * Blocks that were running run again (at least once). Timers keep their due time.
 */
export function pendingCommands(region: Region, state: State): Command[] {
  const commands: Command[] = [];
  if (state.phase === 'ended') return commands;
  collectFromFrame(region, state.frame, [], commands);
  collectGraceTimer(state.drain, [], commands);
  if (state.deadline?.dueMs !== undefined) commands.push(deadlineCommand(state.deadline.dueMs));
  return commands;
}

function collectFromFrame(
  region: Region,
  frame: Frame,
  baseAddress: readonly number[],
  commands: Command[],
): void {
  frame.cells.forEach((nodeState, index) => {
    const at = [...baseAddress, index];
    if (isWork(nodeState)) collectFromWork(nodeState, at, commands);
    if (!isOpenContainer(nodeState)) return;
    if (nodeState.asking) commands.push({ type: 'expand', at, turn: nodeState.next });
    collectGraceTimer(nodeState.drain, at, commands);
    const body = nodeAt(region, index).subflow?.body as Region;
    for (const [iteration, innerFrame] of Object.entries(nodeState.open)) {
      collectGraceTimer(innerFrame.drain, [...at, Number(iteration)], commands);
      collectFromFrame(body, innerFrame, [...at, Number(iteration)], commands);
    }
  });
}

function collectFromWork(work: Work, at: number[], commands: Command[]): void {
  if (work.w === 'run' || work.w === 'blocked') {
    commands.push({ type: 'run', at, ...attemptOf(work), try: work.try });
    if (work.dueMs !== undefined)
      commands.push({ type: 'timer', at, timer: 'timeout', dueMs: work.dueMs, try: work.try });
  } else if (work.w === 'retry')
    commands.push({ type: 'timer', at, timer: 'retry', dueMs: work.dueMs, try: work.try });
  else if (work.w === 'wait') commands.push({ type: 'timer', at, timer: 'wait', dueMs: work.dueMs });
  else commands.push({ type: 'open', at, ...attemptOf(work) });
}

function collectGraceTimer(drain: Drain | undefined, at: readonly number[], commands: Command[]): void {
  if (drain) commands.push({ type: 'timer', at, timer: 'grace', dueMs: drain.dueMs });
}

/** Commands that an event answers. */
type AnsweredCommand = Exclude<Command, { type: 'abort' | 'end' }>;

/**
 * Returns true if `command` is one of `pendingCommands`, without building the list.
 *
 * For drivers that apply several events in one batch: a later event may already answer the command of an earlier one.
 * `abort` and `end` are never pending.
 */
export function isPending(region: Region, state: State, command: Command): boolean {
  if (command.type === 'abort' || command.type === 'end') return false;
  if (command.type === 'timer' && (command.timer === 'grace' || command.timer === 'deadline'))
    return isGraceOrDeadlinePending(region, state, command);
  const nodeState = nodeStateAt(region, state, command.at);
  if (nodeState === undefined) return false;
  if (isOpenContainer(nodeState))
    return command.type === 'expand' && nodeState.asking && nodeState.next === command.turn;
  return isWork(nodeState) && isWaitingFor(nodeState, command);
}

function isWaitingFor(work: Work, command: AnsweredCommand): boolean {
  if (command.type === 'open') return work.w === 'pause' && isSameAttempt(work, command);
  if (command.type === 'run')
    return (work.w === 'run' || work.w === 'blocked') && isSameAttempt(work, command);
  if (command.type === 'expand' || work.w === 'pause' || work.dueMs !== command.dueMs) return false;
  return TIMER_BY_WORK[work.w] === command.timer && (work.w === 'wait' || work.try === command.try);
}

interface AttemptNumbers {
  try?: number;
  resumes?: number;
}

function isSameAttempt(a: AttemptNumbers, b: AttemptNumbers): boolean {
  return a.try === b.try && a.resumes === b.resumes;
}

const TIMER_BY_WORK = { run: 'timeout', blocked: 'timeout', retry: 'retry', wait: 'wait' } as const;

function isGraceOrDeadlinePending(
  region: Region,
  state: State,
  { at, timer, dueMs }: Extract<Command, { type: 'timer' }>,
): boolean {
  if (timer === 'deadline') return state.deadline?.dueMs === dueMs;
  if (at.length === 0) return state.drain?.dueMs === dueMs;
  if (at.length % 2 === 0) {
    const frame = locate(state, rootFramePath(region, state), [...at, 0])?.framePath.frame;
    return frame?.drain?.dueMs === dueMs;
  }
  const nodeState = nodeStateAt(region, state, at);
  return nodeState !== undefined && isOpenContainer(nodeState) && nodeState.drain?.dueMs === dueMs;
}
