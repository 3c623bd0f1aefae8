import type { Address } from './event.ts';
import { endRun } from './drain.ts';
import { startAttempt, settleNode } from './join.ts';
import { isOpenContainer, nodeAt } from './state.ts';
import type { Level } from './state.ts';
import { closeFrame, enterContainer } from './subflow.ts';
import type { Task, StepContext } from './step-context.ts';

// In which order? R6 first come, first served; what belongs to something that is given up is dropped.

/** Works off the tasks of `turn`, and those that come of them. */
export function runTasks(context: StepContext): void {
  const { tasks } = context;
  for (let head = 0; head < tasks.length; head++) runTask(context, tasks[head] as Task);
  tasks.length = 0;
}

function runTask(context: StepContext, task: Task): void {
  if (task.do === 'end') endRun(context, task);
  else if (task.do === 'close') close(context, task.level, task.failed);
  else if (!isDraining(context, task.level)) {
    const { level, index } = task;
    if (task.do === 'settle') settleNode(context, level, index, task.cell);
    else if (nodeAt(level.region, index).subflow) enterContainer(context, level, index);
    else startAttempt(context, level, index, 1);
  }
}

/** A branch that collects its error is itself given up when it closes, so only what is around it counts. */
function close(context: StepContext, level: Level, failed: Address | undefined): void {
  if (failed) delete level.frame.drain;
  if (!isDraining(context, level)) closeFrame(context, level, failed);
}

/** True when the frame of `level` is part of something that is given up. */
function isDraining(context: StepContext, level: Level): boolean {
  if (context.state.phase !== 'running') return true;
  for (let inner = level; ; inner = inner.parent) {
    if (inner.frame.drain) return true;
    if (!inner.parent) return false;
    const span = inner.parent.frame.cells[inner.node];
    if (span === undefined || !isOpenContainer(span) || span.drain) return true;
  }
}
