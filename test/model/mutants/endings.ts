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
      effect: 'a drain does not wait for the grace period',
    },
    {
      from: "nodeState.w === 'run' && nodeAt(framePath.region, index).class !== 'child'",
      to: "nodeState.w === 'run'",
      effect: 'a child run gets a grace period from its parent',
    },
    {
      from: "nodeAt(framePath.region, index).class !== 'child'",
      to: "nodeAt(framePath.region, index).class !== 'child' && false",
      effect: 'nothing gets a grace period',
    },
    {
      from: "nodeState.w === 'run' && nodeAt",
      to: "nodeState.w !== 'pause' && nodeAt",
      effect: 'wait blocks get a grace period',
    },
    {
      from: 'isOpenContainer(nodeState) || (nodeState',
      to: '!isOpenContainer(nodeState) && (nodeState',
      effect: 'a pending expand command gets no grace period',
    },
    {
      from: 'dueMs: context.atMs + context.state.graceMs',
      to: 'dueMs: context.state.graceMs',
      effect: 'the grace period ends before it begins',
    },
    {
      from: 'if (drain.running === 0) finishDrain',
      to: 'if (drain.running < 0) finishDrain',
      effect: 'the drain is not stored',
    },
    {
      from: '--enclosingDrain.drain.running === 0',
      to: '--enclosingDrain.drain.running <= 1',
      effect: 'the grace period ends before the last block',
    },
    {
      from: '--enclosingDrain.drain.running === 0',
      to: '--enclosingDrain.drain.running < 0',
      effect: 'the grace period continues after the last block',
    },
    {
      from: '  context.state.busy--;\n  if (--enclosingDrain',
      to: '  if (--enclosingDrain',
      effect: 'work that ends in its grace period is still counted',
    },
    {
      from: '    framePath.frame.cells[index] = finalNodeState;\n',
      to: '',
      effect: 'a block ends twice in its grace period',
    },
    {
      from: '  if (!isOfAttempt(work, event)) return undefined;\n',
      to: '',
      effect: 'the end of an earlier attempt ends the grace period',
    },
    {
      from: "return event.type === 'paused' ? SKIPPED : 'error'",
      to: "return event.type === 'paused' ? undefined : 'error'",
      effect: 'a pause in the grace period never ends',
    },
    {
      from: "if (event.type === 'paused' && event.continues)",
      to: 'if (false)',
      effect: 'a pause in the grace period is not aborted',
    },
    {
      from: '    if (!answersExpand(nodeState, event)) return false;\n',
      to: '',
      effect: 'any event answers an expand command in the grace period',
    },
    {
      from: "event.type === 'failed' || event.type === 'fired')",
      to: "event.type !== 'paused' && (event.type !== 'completed' || event.port === 'error'))",
      effect: 'a block that completes through the port `error` in its grace period has failed',
    },
    {
      from: "  if (timedOut) context.commands.push({ type: 'abort', at, why: 'timeout' });\n",
      to: '',
      effect: 'a block that times out in the grace period continues',
    },
    { from: '    delete container.drain;\n', to: '', effect: 'an inner container keeps its own drain' },
    { from: '    delete framePath.frame.drain;\n', to: '', effect: 'an inner branch keeps its own drain' },
    {
      from: '    if (container.asking) work.push({ framePath, index });\n',
      to: '',
      effect: 'pending expand commands are not stopped',
    },
    {
      from: 'if (isWork(nodeState)) work.push({ framePath, index });\n      else if',
      to: 'if (isWork(nodeState) && framePath.parent === null) work.push({ framePath, index });\n      else if',
      effect: 'work in containers is not stopped',
    },
    {
      from: "drainReason === 'failed'\n        ?",
      to: "drainReason !== 'until'\n        ?",
      effect: 'a run with a Response fails',
    },
    {
      from: "status: 'failed', reason: 'block'",
      to: "status: 'completed', reason: 'block'",
      effect: 'a failed run completes',
    },
    {
      from: '...outcome, ...(cause && { at: cause }) });',
      to: '...outcome });',
      effect: 'the end does not name the block',
    },
    {
      from: 'cause && cause.length > at.length',
      to: 'cause',
      effect: 'a container that fails by itself reports its transition twice',
    },
    {
      from: "index: scope.index,\n      nodeState: 'error',",
      to: "index: scope.index,\n      nodeState: 'source',",
      effect: 'the run leaves a failed container by `source`',
    },
    {
      from: ', ...(cause && { failed: cause }) });\n  } else {',
      to: ' });\n  } else {',
      effect: 'a drained branch never closes',
    },
    {
      from: "  for (const { framePath, index } of collectOpenWork(context, { kind: 'run' }))\n    abortWork(context, framePath, index, abortReason);\n",
      to: '',
      effect: 'the end aborts nothing',
    },
    { from: '  delete state.deadline;\n', to: '', effect: 'an ended run still has a deadline' },
    { from: '    removeFromCounters(state, nodeState);\n', to: '', effect: 'aborted work is still counted' },
    { from: '    framePath.frame.cells[index] = SKIPPED;\n', to: '', effect: 'work is aborted twice' },
    {
      from: '    nodeState.asking = false;\n    state.busy--;',
      to: '    nodeState.asking = false;',
      effect: 'a stopped expand command is still counted',
    },
    { from: "    context.state.phase = 'draining';\n", to: '', effect: 'a draining run starts more blocks' },
    {
      from: "scope.kind === 'branch' ? frameAddress(scope.framePath)",
      to: "scope.kind === 'branch' ? addressOf(scope.framePath, 0)",
      effect: 'the grace timer of a branch has the wrong address',
    },
    {
      from: 'abortWork(context, framePath, index, reason);\n  finishDrain',
      to: "if (reason !== 'deadline') abortWork(context, framePath, index, reason);\n  finishDrain",
      effect: 'the deadline aborts work in its grace period with the wrong reason',
    },
    {
      from: "status === 'cancelled' ? 'cancelled' : ",
      to: '',
      effect: 'the work of a cancelled run is aborted with the reason `failed`',
    },
    { from: '  delete state.drain;\n', to: '', effect: 'an ended run still has a grace period' },
  ]),
];
