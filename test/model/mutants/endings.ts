import { mutantsOf } from './mutant.ts';
import type { Mutant } from './mutant.ts';

/**
 * Mutants of the code for the end of a run, and for drains. In a drain, a part of a run starts no more blocks, and its
 * running blocks get a grace period.
 */
export const endingMutants: readonly Mutant[] = [
  ...mutantsOf('drain.ts', [
    {
      from: 'context.state.graceMs > 0 && hasGrace',
      to: 'hasGrace',
      why: 'a drain does not wait for the grace period',
    },
    {
      from: "cell.w === 'run' && nodeAt(level.region, index).class !== 'child'",
      to: "cell.w === 'run'",
      why: 'a child run gets a grace period from its parent',
    },
    {
      from: "nodeAt(level.region, index).class !== 'child'",
      to: "nodeAt(level.region, index).class !== 'child' && false",
      why: 'nothing gets a grace period',
    },
    {
      from: "cell.w === 'run' && nodeAt",
      to: "cell.w !== 'pause' && nodeAt",
      why: 'wait blocks get a grace period',
    },
    {
      from: 'return isOpenContainer(cell) || (cell',
      to: 'return !isOpenContainer(cell) && (cell',
      why: 'a pending expand command gets no grace period',
    },
    {
      from: 'dueMs: context.atMs + context.state.graceMs',
      to: 'dueMs: context.state.graceMs',
      why: 'the grace period ends before it begins',
    },
    {
      from: 'if (drain.running === 0) finishDrain',
      to: 'if (drain.running < 0) finishDrain',
      why: 'the drain is not stored',
    },
    {
      from: '--draining.drain.running === 0',
      to: '--draining.drain.running <= 1',
      why: 'the grace period ends before the last block',
    },
    {
      from: '--draining.drain.running === 0',
      to: '--draining.drain.running < 0',
      why: 'the grace period continues after the last block',
    },
    {
      from: '  context.state.busy--;\n  if (--draining',
      to: '  if (--draining',
      why: 'work that ends in its grace period is still counted',
    },
    { from: '    level.frame.cells[index] = last;\n', to: '', why: 'a block ends twice in its grace period' },
    {
      from: '  if (!isOfAttempt(work, event)) return undefined;\n',
      to: '',
      why: 'the end of an earlier attempt ends the grace period',
    },
    {
      from: "return event.type === 'paused' ? SKIPPED : 'error'",
      to: "return event.type === 'paused' ? undefined : 'error'",
      why: 'a pause in the grace period never ends',
    },
    {
      from: "if (event.type === 'paused' && event.continues)",
      to: 'if (false)',
      why: 'a pause in the grace period is not aborted',
    },
    {
      from: '    if (!answersExpand(cell, event)) return false;\n',
      to: '',
      why: 'any event answers an expand command in the grace period',
    },
    {
      from: "event.type === 'failed' || event.type === 'fired')",
      to: "event.type !== 'paused' && (event.type !== 'completed' || event.port === 'error'))",
      why: 'a block that completes by `error` in its grace period has failed',
    },
    {
      from: "  if (timedOut) context.commands.push({ type: 'abort', at, why: 'timeout' });\n",
      to: '',
      why: 'a block that times out in the grace period continues',
    },
    { from: '    delete container.drain;\n', to: '', why: 'an inner container keeps its own drain' },
    { from: '    delete level.frame.drain;\n', to: '', why: 'an inner branch keeps its own drain' },
    {
      from: '    if (container.asking) work.push({ level, index });\n',
      to: '',
      why: 'pending expand commands are not stopped',
    },
    {
      from: 'if (isWork(cell)) work.push({ level, index });\n      else if',
      to: 'if (isWork(cell) && level.parent === null) work.push({ level, index });\n      else if',
      why: 'work in containers is not stopped',
    },
    {
      from: "why === 'failed'\n        ?",
      to: "why !== 'until'\n        ?",
      why: 'a run with a Response fails',
    },
    {
      from: "status: 'failed', reason: 'block'",
      to: "status: 'completed', reason: 'block'",
      why: 'a failed run completes',
    },
    {
      from: '...outcome, ...(cause && { at: cause }) });',
      to: '...outcome });',
      why: 'the end does not name the block',
    },
    {
      from: 'cause && cause.length > at.length',
      to: 'cause',
      why: 'a container that fails by itself sends its notice twice',
    },
    {
      from: "index: scope.index, cell: 'error' }",
      to: "index: scope.index, cell: 'source' }",
      why: 'a failed container leaves by `source`',
    },
    {
      from: ', ...(cause && { failed: cause }) });\n  } else {',
      to: ' });\n  } else {',
      why: 'a drained branch never closes',
    },
    {
      from: "  for (const { level, index } of collectOpenWork(context, { of: 'run' })) stop(context, level, index, why);\n",
      to: '',
      why: 'the end aborts nothing',
    },
    { from: '  delete state.deadline;\n', to: '', why: 'an ended run still has a deadline' },
    { from: '    removeFromCounters(state, cell);\n', to: '', why: 'aborted work is still counted' },
    { from: '    level.frame.cells[index] = SKIPPED;\n', to: '', why: 'work is aborted twice' },
    {
      from: '    cell.asking = false;\n    state.busy--;',
      to: '    cell.asking = false;',
      why: 'a stopped expand command is still counted',
    },
    { from: "    context.state.phase = 'draining';\n", to: '', why: 'a draining run starts more blocks' },
    {
      from: "scope.of === 'branch' ? frameAddress(scope.level)",
      to: "scope.of === 'branch' ? addressOf(scope.level, 0)",
      why: 'the grace timer of a branch has the wrong address',
    },
    {
      from: 'stop(context, level, index, why);\n  finishDrain',
      to: "if (why !== 'deadline') stop(context, level, index, why);\n  finishDrain",
      why: 'the deadline aborts work in its grace period with the wrong reason',
    },
    {
      from: "status === 'cancelled' ? 'cancelled' : ",
      to: '',
      why: 'the work of a cancelled run is aborted with the reason `failed`',
    },
    { from: '  delete state.drain;\n', to: '', why: 'an ended run still has a grace period' },
  ]),
];
