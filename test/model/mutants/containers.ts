import { mutantsOf } from './mutant.ts';
import type { Mutant } from './mutant.ts';

/** Mutants of the code for iterations, branches, windows and failures. */
export const containerMutants: readonly Mutant[] = [
  ...mutantsOf('subflow.ts', [
    {
      from: '  delete container.open[innerFramePath.iteration];\n',
      to: '',
      effect: 'a closed frame can still be reached',
    },
    { from: '  container.live--;\n', to: '', effect: 'the window is never refilled' },
    {
      from: '  continueContainer(context, framePath, innerFramePath.node);',
      to: '  if (container.live === 0) continueContainer(context, framePath, innerFramePath.node);',
      effect: 'the window is refilled in batches',
    },
    {
      from: 'container.live < window',
      to: 'container.live <= window',
      effect: 'one branch too many is open',
    },
    {
      from: "=== 'loop' ? 1 : Infinity",
      to: "=== 'loop' ? 2 : Infinity",
      effect: 'two iterations of a loop run concurrently',
    },
    {
      from: '|| container.next < container.count',
      to: '|| container.next < container.count - 1',
      effect: 'the last branch never opens',
    },
    {
      from: 'container.missing !== undefined || ',
      to: '',
      effect:
        'branches that a start inside the container has skipped do not open after all later branches have opened',
    },
    {
      from: 'missingBranch ?? container.next++',
      to: 'container.next++',
      effect: 'a branch that a start inside the container has skipped gets the number of a later branch',
    },
    {
      from: 'if (container.live === 0) exit',
      to: 'if (container.next >= container.count) exit',
      effect: 'a container is done when its last branch opens',
    },
    {
      from: 'container.next >= limit)',
      to: 'container.next > limit)',
      effect: 'a while loop gets an iteration beyond its limit',
    },
    {
      from: 'container.count > subflow.limit',
      to: 'container.count >= subflow.limit',
      effect: 'a count equal to the limit fails',
    },
    {
      from: ' failContainer(context, framePath, index, subflow.limit);\n  else',
      to: ' {\n    container.count = subflow.limit;\n    openWindow(context, framePath, index);\n  } else',
      effect: 'a count above the limit is reduced to the limit without an error',
    },
    {
      from: 'container.next === 0',
      to: 'container.next <= 1',
      effect: 'a doWhile loop always has a second iteration',
    },
    {
      from: 'else if (count > 0) openNext',
      to: 'else if (count >= 0) openNext',
      effect: 'a while loop never ends',
    },
    {
      from: 'index), turn: container.next });',
      to: 'index), turn: container.next + 1 });',
      effect: 'the wrong iteration is requested',
    },
    { from: '  container.asking = true;\n', to: '', effect: 'the answer to an expand command is ignored' },
    { from: '  context.state.busy++;\n', to: '', effect: 'a pending expand command is not counted' },
    {
      from: 'cells: prepareRegion(body).cells.slice()',
      to: 'cells: prepareRegion(body).cells as Frame["cells"]',
      effect: 'joins keep their state from one iteration to the next',
    },
    {
      from: "  if (frame.left === 0) context.tasks.push({ type: 'close', framePath: innerFramePath });\n",
      to: '',
      effect: 'an empty iteration never closes',
    },
    {
      from: 'of body.entries)',
      to: 'of body.entries.toReversed())',
      effect: 'the blocks of an iteration start in reverse order of the edges',
    },
    {
      from: 'count: containerAt(framePath, index).next',
      to: 'count: containerAt(framePath, index).count',
      effect: 'a while loop exits without its number of iterations',
    },
    {
      from: "framePath, index, nodeState: 'source' }",
      to: "framePath, index, nodeState: 'error' }",
      effect: 'the run leaves a completed container by `error`',
    },
    { from: ', open: {} };', to: ', open: {}, drain: undefined };', effect: 'the state is not JSON' },
  ]),
  ...mutantsOf('failure.ts', [
    {
      from: 'failure.attempt >= retry.maxTries',
      to: 'failure.attempt > retry.maxTries',
      effect: 'one attempt too many',
    },
    {
      from: 'failure.attempt >= retry.maxTries',
      to: 'failure.attempt >= retry.maxTries - 1',
      effect: 'one attempt too few',
    },
    { from: ' || failure.retryable === false', to: '', effect: 'a failure that is not retryable is retried' },
    {
      from: 'const nextAttempt = failure.attempt + 1',
      to: 'const nextAttempt = failure.attempt',
      effect: 'all attempts have the same number',
    },
    { from: 'if (waitMs === 0)', to: 'if (waitMs >= 0)', effect: 'no wait between attempts' },
    {
      from: 'const dueMs = context.atMs + waitMs',
      to: 'const dueMs = waitMs',
      effect: 'the wait between attempts ends in the past',
    },
    { from: '  context.state.busy++;\n', to: '', effect: 'a pending retry is not counted' },
    {
      from: 'retry.backoff ** (attempt - 1)',
      to: 'retry.backoff ** attempt',
      effect: 'the wait grows by one step too many',
    },
    {
      from: 'Math.min(retry.maxWaitMs',
      to: 'Math.max(retry.maxWaitMs',
      effect: 'the maximum wait is a minimum',
    },
    { from: 'retry.waitMs === 0 ? 0 : ', to: '', effect: 'a wait of 0 becomes NaN after many attempts' },
    { from: '(1 - retry.jitter', to: '(1 + retry.jitter', effect: 'jitter makes the wait longer' },
    {
      from: 'Math.max(Math.round(jitteredMs), failure.retryAfterMs ?? 0)',
      to: 'failure.retryAfterMs ?? Math.round(jitteredMs)',
      effect: 'Retry-After shortens the wait',
    },
    {
      from: 'Math.max(Math.round(jitteredMs), failure.retryAfterMs ?? 0)',
      to: 'Math.round(jitteredMs)',
      effect: 'Retry-After is ignored',
    },
    {
      from: 'subflow?.collectErrors)',
      to: 'subflow?.collectErrors && !container.handlesError)',
      effect: 'an error port takes precedence over a container that collects errors',
    },
    {
      from: '    if (container.handlesError)\n',
      to: '    if (ancestor.parent.parent && container.handlesError)\n',
      effect: 'error ports of outer containers are ignored',
    },
    {
      from: "  if (!subflow) framePath.frame.cells[index] = 'error';\n",
      to: '',
      effect: 'a failed block still has work in flight',
    },
    {
      from: 'handlesError ? { kind',
      to: 'handlesError && !subflow ? { kind',
      effect: 'a container that fails by itself does not take its error port',
    },
    {
      from: "    context.tasks.push({ type: 'settle', framePath, index, nodeState: 'error' });\n",
      to: "    context.tasks.push({ type: 'settle', framePath, index, nodeState: 'source' });\n",
      effect: 'the run leaves a failed block by `source`',
    },
    {
      from: '...(failure.timedOut && { timedOut: true })',
      to: '...{}',
      effect: 'the transition of a timeout does not say that it was a timeout',
    },
  ]),
];
