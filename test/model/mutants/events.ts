import { faultsIn } from './mutant.ts';
import type { Mutant } from './mutant.ts';

/** Faults in what an event means: late ones, time, people, child runs, counters, what is owed. */
export const events: readonly Mutant[] = [
  ...faultsIn('work.ts', [
    {
      from: 'on, ...due };\n  return true;',
      to: 'on, ...due };\n  return false;',
      why: 'news of a child are no change',
    },
    {
      from: '  if (!answersExpand(span, event)) return false;\n',
      to: '',
      why: 'a container takes answers that it did not ask for',
    },
    { from: '  span.asking = false;\n', to: '', why: 'a question is answered twice' },
    { from: '  context.state.busy--;\n', to: '', why: 'an answered question is still counted' },
    {
      from: ' || event.attempt !== work.try) return false',
      to: ') return false',
      why: 'the end of an earlier try ends this one',
    },
    {
      from: "(event.timer !== 'timeout' || work.dueMs === undefined)",
      to: "event.timer !== 'timeout'",
      why: 'a time-out that nobody set is taken',
    },
    {
      from: "(event.timer !== 'timeout' || work.dueMs === undefined)",
      to: 'work.dueMs === undefined',
      why: 'any timer is the time-out',
    },
    {
      from: '  if (!isAwaited(work, event)) return false;\n  removeFromCounters(context.state, work);\n',
      to: '  if (!isAwaited(work, event)) return false;\n',
      why: 'a wait that is over is still counted',
    },
    {
      from: "return event.type === 'resumed'",
      to: "return event.type === 'resumed' || event.type === 'fired'",
      why: 'a timer resumes a pause',
    },
    {
      from: ' || event.timer !== work.w) return false',
      to: ') return false',
      why: 'a wait ends by the timer of something else',
    },
    {
      from: "return work.w === 'wait' || event.attempt === work.try",
      to: 'return true',
      why: 'the timer of an earlier try starts the next one',
    },
    {
      from: "level, index, cell: 'source' }",
      to: "level, index, cell: 'resumed' }",
      why: 'a resumed block leaves by another port',
    },
    { from: "event.port ?? 'source'", to: "'source'", why: 'the port of a block is not heard' },
    { from: 'event.dueMs ?? event.atMs', to: 'event.atMs', why: 'a wait is over at once' },
    { from: 'event.dueMs ?? event.atMs', to: 'event.dueMs as number', why: 'a wait without a time has none' },
    {
      from: '    context.state.timers++;\n    level',
      to: '    context.state.humans++;\n    level',
      why: 'a wait counts as a person',
    },
    {
      from: "  context.commands.push({ type: 'open', at: event.at });\n",
      to: '',
      why: 'a pause is never opened',
    },
    {
      from: "    context.commands.push({ type: 'abort', at: event.at, why: 'timeout' });\n",
      to: '',
      why: 'a block whose time is up runs on',
    },
    {
      from: '{ attempt: work.try, timedOut: true }',
      to: '{ attempt: work.try, timedOut: true, retryable: false }',
      why: 'a time-out is never tried again',
    },
    {
      from: "nodeAt(level.region, index).class !== 'child' || before === on",
      to: 'before === on',
      why: 'any block can be blocked',
    },
    {
      from: ' || before === on) return false',
      to: ') return false',
      why: 'the same news of a child twice is news',
    },
    {
      from: 'work.dueMs === undefined ? {} : { dueMs: work.dueMs }',
      to: '{}',
      why: 'a child that was blocked has no time-out',
    },
    {
      from: 'if (on === null) context.state.busy++;',
      to: 'if (on === null) context.state.timers++;',
      why: 'a child that moves counts as a timer',
    },
    {
      from: "work.w === 'blocked' ? work.on : null",
      to: 'null',
      why: 'a child that was blocked never moves again',
    },
  ]),
  ...faultsIn('time.ts', [
    {
      from: 'context.atMs < deadline.dueMs',
      to: 'context.atMs <= deadline.dueMs',
      why: 'the deadline comes a moment late',
    },
    { from: ' || context.atMs < deadline.dueMs', to: '', why: 'a void deadline is taken' },
    {
      from: "  if (drain) abortDrain(context, { of: 'run' }, drain, 'deadline');\n  else context",
      to: '  turn',
      why: 'the deadline overrules the outcome',
    },
    { from: 'event.activeOnly === true', to: 'true', why: 'the deadline always stands still for people' },
    { from: 'event.activeOnly === true', to: 'false', why: 'the deadline never stands still' },
    {
      from: 'event.atMs + event.timeoutMs',
      to: 'event.timeoutMs',
      why: 'the deadline has passed before the start',
    },
    {
      from: 'abortDrain(context, target.scope, target.drain, target.drain.why)',
      to: "abortDrain(context, { of: 'run' }, target.drain, target.drain.why)",
      why: 'the grace of a part ends the run',
    },
    {
      from: '!isOpenContainer(cell) || !cell.drain',
      to: '!isOpenContainer(cell) || cell.drain',
      why: 'the grace of a container never ends',
    },
  ]),
  ...faultsIn('idle-state.ts', [
    {
      from: '    delete deadline.leftMs;\n',
      to: '',
      why: 'the deadline that goes on moves with every event',
    },
    {
      from: 'busy === 0 && timers === 0 && humans',
      to: 'busy === 0 && humans',
      why: 'the deadline stands still though a timer can move the run',
    },
    {
      from: 'Math.max(0, deadline.dueMs - context.atMs)',
      to: 'deadline.dueMs',
      why: 'a pause gives the run more time',
    },
    {
      from: 'deadline.dueMs = context.atMs + deadline.leftMs',
      to: 'deadline.dueMs = deadline.leftMs',
      why: 'the deadline goes on in the past',
    },
    {
      from: '    context.commands.push(deadlineCommand(deadline.dueMs));\n',
      to: '',
      why: 'the deadline that goes on is not asked for',
    },
    { from: '    delete deadline.dueMs;\n', to: '', why: 'the deadline both runs and stands still' },
    { from: "  if (state.busy > 0) return 'running';\n", to: '', why: 'a run rests while blocks run' },
    {
      from: "state.humans > 0 ? 'human' : state.timers > 0 ? 'time'",
      to: "state.timers > 0 ? 'time' : state.humans > 0 ? 'human'",
      why: 'a run that needs a person says that it needs time',
    },
  ]),
  ...faultsIn('pending.ts', [
    {
      from: "  if (state.phase === 'ended') return commands;\n",
      to: "  if (state.phase !== 'running') return commands;\n",
      why: 'a run that is given up owes nothing',
    },
    {
      from: '  collectGraceTimer(state.drain, [], commands);\n',
      to: '',
      why: 'the grace of the run is not owed',
    },
    {
      from: '    collectGraceTimer(cell.drain, at, commands);\n',
      to: '',
      why: 'the grace of a container is not owed',
    },
    {
      from: '      collectGraceTimer(inner.drain, [...at, Number(iteration)], commands);\n',
      to: '',
      why: 'the grace of a branch is not owed',
    },
    {
      from: "    if (cell.asking) commands.push({ type: 'expand', at, turn: cell.next });\n",
      to: '',
      why: 'questions are not owed',
    },
    {
      from: '      collectFromFrame(body, inner, [...at, Number(iteration)], commands);\n',
      to: '',
      why: 'work in containers is not owed',
    },
    {
      from: '    if (work.dueMs !== undefined)\n',
      to: '    if (work.dueMs === 0)\n',
      why: 'time-outs are not owed',
    },
    { from: " || work.w === 'blocked') {", to: ') {', why: 'a child that is blocked is owed as a pause' },
    {
      from: "timer: 'retry', dueMs: work.dueMs, try: work.try",
      to: "timer: 'retry', dueMs: work.dueMs, try: 1",
      why: 'tries to come lose their number',
    },
    {
      from: "{ type: 'run', at, try: work.try }",
      to: "{ type: 'run', at, try: 1 }",
      why: 'later tries are owed as the first',
    },
    { from: "  else commands.push({ type: 'open', at });\n", to: '', why: 'open pauses are not owed' },
    {
      from: '  if (state.deadline?.dueMs !== undefined) commands.push(deadlineCommand(state.deadline.dueMs));\n',
      to: '',
      why: 'the deadline is not owed',
    },
  ]),
  ...faultsIn('state.ts', [
    {
      from: 'return event.iteration === span.next || (',
      to: 'return event.iteration !== undefined || (',
      why: 'the answer for another turn is taken',
    },
    { from: 'if (!span.asking || (event', to: 'if ((event', why: 'an answer is taken without a question' },
    {
      from: " || (event.type === 'failed' && event.iteration === undefined)",
      to: '',
      why: 'a question fails only by its turn',
    },
    {
      from: " || work.w === 'retry') state.busy--",
      to: ') state.busy--',
      why: 'a try to come counts as a person when it is over',
    },
    {
      from: " || (work.w === 'blocked' && work.on === 'time')) state.timers--",
      to: ') state.timers--',
      why: 'a child that waits counts as a person when it moves',
    },
    {
      from: 'if (Array.isArray(value)) return value.map(clone)',
      to: 'if (Array.isArray(value)) return value',
      why: 'a step changes the cells of the state that it was given',
    },
    {
      from: 'address.unshift(at.node, at.iteration)',
      to: 'address.push(at.node, at.iteration)',
      why: 'deep addresses are inside out',
    },
  ]),
  ...faultsIn('work-at.ts', [
    { from: ' && cell.count >= 0 ?', to: ' ?', why: 'a number of turns that is not known is one' },
    {
      from: 'cell !== undefined && isWork(cell) ? cell',
      to: 'cell !== undefined ? cell',
      why: 'anything is work',
    },
  ]),
];
