import { mutantsOf } from './mutant.ts';
import type { Mutant } from './mutant.ts';

/** Mutants of the code that handles events: late events, timers, people, child runs, counters, pending commands. */
export const eventMutants: readonly Mutant[] = [
  ...mutantsOf('work.ts', [
    {
      from: 'on, ...attempt };\n  return true;',
      to: 'on, ...attempt };\n  return false;',
      effect: 'a child run that becomes blocked changes nothing',
    },
    {
      from: '  if (!answersExpand(container, event)) return false;\n',
      to: '',
      effect: 'a container accepts answers to commands that it did not issue',
    },
    { from: '  container.asking = false;\n', to: '', effect: 'an expand command is answered twice' },
    { from: '  context.state.busy--;\n', to: '', effect: 'an answered expand command is still counted' },
    {
      from: '  if (!isOfAttempt(work, event)) return false;\n',
      to: '',
      effect: 'the end of an earlier attempt ends this one',
    },
    {
      from: ' && event.attempt === work.try && event.resumes === work.resumes',
      to: '',
      effect: 'the answer to an earlier pause answers this one',
    },
    {
      from: 'event.attempt === work.try && event.resumes === work.resumes',
      to: 'event.attempt === work.try',
      effect: 'the answer to an earlier pause of the attempt answers this one',
    },
    {
      from: 'previousResumes + 1',
      to: 'previousResumes',
      effect: 'a second resume has the number of the first',
    },
    {
      from: 'Math.max(0, dueMs - event.atMs)',
      to: 'dueMs',
      effect: 'an attempt that continues has more than its remaining time',
    },
    {
      from: "    framePath.frame.cells[index] = { w: 'run', try: attempt, resumes };\n",
      to: "    framePath.frame.cells[index] = { w: 'run', try: attempt };\n",
      effect: 'an attempt that continues accepts results from before the answer',
    },
    {
      from: '  if (!event.continues) {',
      to: '  if (event.continues) {',
      effect: 'a pause continues blocks that it should end, and ends blocks that it should continue',
    },
    {
      from: '  if (!isAwaited(work, event)) return false;\n  removeFromCounters(context.state, work);\n',
      to: '  if (!isAwaited(work, event)) return false;\n',
      effect: 'a wait that has ended is still counted',
    },
    {
      from: "return event.type === 'resumed'",
      to: "return event.type === 'resumed' || event.type === 'fired'",
      effect: 'a timer resumes a pause',
    },
    {
      from: ' || event.timer !== work.w) return false',
      to: ') return false',
      effect: 'the timer of another block ends a wait',
    },
    {
      from: "return work.w === 'wait' || event.attempt === work.try",
      to: 'return true',
      effect: 'the timer of an earlier attempt starts the next one',
    },
    {
      from: "framePath, index, nodeState: 'source' }",
      to: "framePath, index, nodeState: 'resumed' }",
      effect: 'the run leaves a resumed block by another port',
    },
    { from: "event.port ?? 'source'", to: "'source'", effect: 'the port of a block is ignored' },
    { from: 'event.dueMs ?? event.atMs', to: 'event.atMs', effect: 'a wait ends immediately' },
    {
      from: 'event.dueMs ?? event.atMs',
      to: 'event.dueMs as number',
      effect: 'a wait without a time has no timer',
    },
    {
      from: '    context.state.timers++;\n    framePath',
      to: '    context.state.humans++;\n    framePath',
      effect: 'a wait counts as waiting for a person',
    },
    {
      from: "  context.commands.push({ type: 'open', at: event.at });\n",
      to: '',
      effect: 'a pause is never opened',
    },
    {
      from: "    context.commands.push({ type: 'abort', at: event.at, why: 'timeout' });\n",
      to: '',
      effect: 'a block that times out continues',
    },
    {
      from: '{ attempt: work.try, timedOut: true }',
      to: '{ attempt: work.try, timedOut: true, retryable: false }',
      effect: 'a timeout is never retried',
    },
    {
      from: '!CALLER_CLASSES.has(nodeAt(framePath.region, index).class) || previous === on',
      to: 'previous === on',
      effect: 'any block can be blocked',
    },
    {
      from: ' || previous === on) return false',
      to: ') return false',
      effect: 'a repeated `blocked` event counts as a change',
    },
    {
      from: 'work.dueMs !== undefined && { dueMs: work.dueMs }',
      to: '{}',
      effect: 'a child that was blocked has no timeout',
    },
    {
      from: 'if (on === null) context.state.busy++;',
      to: 'if (on === null) context.state.timers++;',
      effect: 'a child that runs counts as a timer',
    },
    {
      from: "work.w === 'blocked' ? work.on : null",
      to: 'null',
      effect: 'a child that was blocked never runs again',
    },
  ]),
  ...mutantsOf('deadline.ts', [
    {
      from: 'context.atMs < deadline.dueMs',
      to: 'context.atMs <= deadline.dueMs',
      effect: 'the deadline fires slightly late',
    },
    {
      from: ' || context.atMs < deadline.dueMs',
      to: '',
      effect: 'a deadline that is no longer valid is accepted',
    },
    {
      from: "  if (drain) abortDrain(context, { kind: 'run' }, drain, 'deadline');\n  else context",
      to: '  context',
      effect: 'the deadline overrides the outcome of a drain',
    },
    {
      from: 'event.activeOnly === true',
      to: 'true',
      effect: 'the clock of the deadline always stops while the run waits for a person',
    },
    { from: 'event.activeOnly === true', to: 'false', effect: 'the clock of the deadline never stops' },
    {
      from: 'event.atMs + event.timeoutMs',
      to: 'event.timeoutMs',
      effect: 'the deadline lies before the start',
    },
    {
      from: 'abortDrain(context, target.scope, target.drain, target.drain.why)',
      to: "abortDrain(context, { kind: 'run' }, target.drain, target.drain.why)",
      effect: 'the grace timer of a container or branch ends the run',
    },
    {
      from: '!isOpenContainer(nodeState) || !nodeState.drain',
      to: '!isOpenContainer(nodeState) || nodeState.drain',
      effect: 'the grace period of a container never ends',
    },
    {
      from: '    delete deadline.leftMs;\n',
      to: '',
      effect: 'a resumed deadline moves with every event',
    },
    {
      from: 'busy === 0 && timers === 0 && humans',
      to: 'busy === 0 && humans',
      effect: 'the clock of the deadline stops although a timer can continue the run',
    },
    {
      from: 'Math.max(0, deadline.dueMs - context.atMs)',
      to: 'deadline.dueMs',
      effect: 'a pause gives the run more time',
    },
    {
      from: 'deadline.dueMs = context.atMs + deadline.leftMs',
      to: 'deadline.dueMs = deadline.leftMs',
      effect: 'a resumed deadline is in the past',
    },
    {
      from: '    context.commands.push(deadlineCommand(deadline.dueMs));\n',
      to: '',
      effect: 'a resumed deadline has no timer',
    },
    {
      from: '    delete deadline.dueMs;\n',
      to: '',
      effect: 'the deadline runs and is stopped at the same time',
    },
  ]),
  ...mutantsOf('pending-commands.ts', [
    {
      from: "  if (state.phase === 'ended') return commands;\n",
      to: "  if (state.phase !== 'running') return commands;\n",
      effect: 'a draining run has no pending commands',
    },
    {
      from: '  collectGraceTimer(state.drain, [], commands);\n',
      to: '',
      effect: 'the grace timer of the run is not pending',
    },
    {
      from: '    collectGraceTimer(nodeState.drain, at, commands);\n',
      to: '',
      effect: 'the grace timer of a container is not pending',
    },
    {
      from: '      collectGraceTimer(innerFrame.drain, [...at, Number(iteration)], commands);\n',
      to: '',
      effect: 'the grace timer of a branch is not pending',
    },
    {
      from: "    if (nodeState.asking) commands.push({ type: 'expand', at, turn: nodeState.next });\n",
      to: '',
      effect: 'expand commands are not pending',
    },
    {
      from: '      collectFromFrame(body, innerFrame, [...at, Number(iteration)], commands);\n',
      to: '',
      effect: 'work in containers is not pending',
    },
    {
      from: '    if (work.dueMs !== undefined)\n',
      to: '    if (work.dueMs === 0)\n',
      effect: 'timeouts are not pending',
    },
    { from: " || work.w === 'blocked') {", to: ') {', effect: 'a blocked child is pending as a pause' },
    {
      from: "timer: 'retry', dueMs: work.dueMs, try: work.try",
      to: "timer: 'retry', dueMs: work.dueMs, try: 1",
      effect: 'pending retries lose their number',
    },
    {
      from: '...attemptOf(work), try: work.try }',
      to: '...attemptOf(work), try: 1 }',
      effect: 'later attempts are pending as the first',
    },
    {
      from: "  else commands.push({ type: 'open', at, ...attemptOf(work) });\n",
      to: '',
      effect: 'open pauses are not pending',
    },
    {
      from: '  if (state.deadline?.dueMs !== undefined) commands.push(deadlineCommand(state.deadline.dueMs));\n',
      to: '',
      effect: 'the deadline is not pending',
    },
  ]),
  ...mutantsOf('state.ts', [
    {
      from: ' || event.attempt !== work.try) return false',
      to: ') return false',
      effect: 'events of an earlier attempt are accepted',
    },
    {
      from: 'return event.resumes === resumes',
      to: 'return true',
      effect: 'results from before an answer are accepted',
    },
    {
      from: "return event.timer === 'timeout' && work.dueMs !== undefined && isDue",
      to: "return event.timer === 'timeout' && isDue",
      effect: 'a timeout that was never set is accepted',
    },
    {
      from: "return event.timer === 'timeout' && work.dueMs !== undefined && isDue",
      to: 'return work.dueMs !== undefined && isDue',
      effect: 'any timer counts as the timeout',
    },
    {
      from: 'work.dueMs !== undefined && isDue',
      to: 'work.dueMs !== undefined',
      effect: 'the timeout from before an answer is accepted',
    },
    { from: "  if (state.busy > 0) return 'running';\n", to: '', effect: 'a run is idle while blocks run' },
    {
      from: "state.humans > 0 ? 'human' : state.timers > 0 ? 'time'",
      to: "state.timers > 0 ? 'time' : state.humans > 0 ? 'human'",
      effect: 'a run that needs a person claims to wait for a timer',
    },
    {
      from: 'return event.iteration === container.next || (',
      to: 'return event.iteration !== undefined || (',
      effect: 'the answer for another iteration is accepted',
    },
    {
      from: 'if (!container.asking || (event',
      to: 'if ((event',
      effect: 'an answer is accepted without an expand command',
    },
    {
      from: " || (event.type === 'failed' && event.iteration === undefined)",
      to: '',
      effect: 'the failure of an expand command is ignored if its event has no iteration',
    },
    {
      from: " || work.w === 'retry') state.busy--",
      to: ') state.busy--',
      effect: 'a pending retry counts as waiting for a person after it has ended',
    },
    {
      from: " || (work.w === 'blocked' && work.on === 'time')) state.timers--",
      to: ') state.timers--',
      effect: 'a child that waited counts as waiting for a person when it runs again',
    },
    {
      from: 'if (Array.isArray(value)) return value.map(clone)',
      to: 'if (Array.isArray(value)) return value',
      effect: 'a step changes the cells of the state that it received',
    },
    {
      from: 'address.unshift(ancestor.node, ancestor.iteration)',
      to: 'address.push(ancestor.node, ancestor.iteration)',
      effect: 'deep addresses are reversed',
    },
  ]),
  ...mutantsOf('locate.ts', [
    {
      from: ' && nodeState.count >= 0\n',
      to: '\n',
      effect: 'an unknown number of iterations counts as a number',
    },
    {
      from: 'nodeState !== undefined && isWork(nodeState) ? nodeState',
      to: 'nodeState !== undefined ? nodeState',
      effect: 'every state of a node counts as work',
    },
  ]),
];
