import type { Address } from './event.ts';
import { endRun } from './drain.ts';
import { runTry, settleNode } from './join.ts';
import { isSpan, nodeAt } from './state.ts';
import type { Level } from './state.ts';
import { closeFrame, enterContainer } from './subflow.ts';
import type { Task, Turn } from './turn.ts';

// In which order? R6 first come, first served; what belongs to something that is given up is dropped.

/** Works off the tasks of `turn`, and those that come of them. */
export function workOff(turn: Turn): void {
  const { tasks } = turn;
  for (let head = 0; head < tasks.length; head++) perform(turn, tasks[head] as Task);
  tasks.length = 0;
}

function perform(turn: Turn, task: Task): void {
  if (task.do === 'end') endRun(turn, task);
  else if (task.do === 'close') close(turn, task.level, task.failed);
  else if (!isGivenUp(turn, task.level)) {
    const { level, index } = task;
    if (task.do === 'settle') settleNode(turn, level, index, task.cell);
    else if (nodeAt(level.region, index).subflow) enterContainer(turn, level, index);
    else runTry(turn, level, index, 1);
  }
}

/** A branch that collects its error is itself given up when it closes, so only what is around it counts. */
function close(turn: Turn, level: Level, failed: Address | undefined): void {
  if (failed) delete level.frame.drain;
  if (!isGivenUp(turn, level)) closeFrame(turn, level, failed);
}

/** True when the frame of `level` is part of something that is given up. */
function isGivenUp(turn: Turn, level: Level): boolean {
  if (turn.state.phase !== 'running') return true;
  for (let inner = level; ; inner = inner.parent) {
    if (inner.frame.drain) return true;
    if (!inner.parent) return false;
    const span = inner.parent.frame.cells[inner.node];
    if (span === undefined || !isSpan(span) || span.drain) return true;
  }
}
