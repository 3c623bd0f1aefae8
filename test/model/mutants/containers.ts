import { faultsIn } from './mutant.ts';
import type { Mutant } from './mutant.ts';

/** Faults in turns, branches and windows, and in what failures do. */
export const containers: readonly Mutant[] = [
  ...faultsIn('subflow.ts', [
    { from: '  delete span.open[inner.iteration];\n', to: '', why: 'a closed frame can still be reached' },
    { from: '  span.live--;\n', to: '', why: 'the window is never refilled' },
    {
      from: '  proceed(context, level, inner.node);',
      to: '  if (span.live === 0) proceed(context, level, inner.node);',
      why: 'the window is refilled batch by batch',
    },
    { from: 'span.live < window', to: 'span.live <= window', why: 'one branch too many is open' },
    {
      from: "=== 'loop' ? 1 : Infinity",
      to: "=== 'loop' ? 2 : Infinity",
      why: 'two turns of a loop run side by side',
    },
    {
      from: 'span.next < span.count) openNext',
      to: 'span.next < span.count - 1) openNext',
      why: 'the last branch never opens',
    },
    {
      from: 'if (span.live === 0) exit',
      to: 'if (span.next >= span.count) exit',
      why: 'a container is done when its last branch opens',
    },
    {
      from: 'if (span.next >= limit)',
      to: 'if (span.next > limit)',
      why: 'a while gets a turn beyond its limit',
    },
    {
      from: 'span.count > subflow.limit',
      to: 'span.count >= subflow.limit',
      why: 'a count equal to the limit fails',
    },
    {
      from: ' fail(context, level, index, subflow.limit);\n  else',
      to: ' {\n    span.count = subflow.limit;\n    openWindow(context, level, index);\n  } else',
      why: 'a limit is a silent cap',
    },
    { from: 'span.next === 0', to: 'span.next <= 1', why: 'a doWhile has two turns for nothing' },
    { from: 'else if (count > 0) openNext', to: 'else if (count >= 0) openNext', why: 'a while never ends' },
    {
      from: 'index), turn: span.next });',
      to: 'index), turn: span.next + 1 });',
      why: 'the wrong turn is asked for',
    },
    { from: '  span.asking = true;\n', to: '', why: 'the answer to a question is void' },
    { from: '  context.state.busy++;\n', to: '', why: 'a question is not counted' },
    {
      from: 'cells: prepare(body).cells.slice()',
      to: 'cells: prepare(body).cells as Frame["cells"]',
      why: 'joins are not armed anew for a turn',
    },
    {
      from: "  if (frame.left === 0) context.tasks.push({ do: 'close', level: inner });\n",
      to: '',
      why: 'an empty turn never closes',
    },
    {
      from: 'of body.entries)',
      to: 'of body.entries.toReversed())',
      why: 'a turn starts against the order of the edges',
    },
    {
      from: 'count: containerAt(level, index).next',
      to: 'count: containerAt(level, index).count',
      why: 'a while exits without its number of turns',
    },
    {
      from: "level, index, cell: 'source' }",
      to: "level, index, cell: 'error' }",
      why: 'a container that is done leaves by `error`',
    },
    { from: ', open: {} };', to: ', open: {}, drain: undefined };', why: 'the state is no JSON' },
  ]),
  ...faultsIn('failure.ts', [
    {
      from: 'failure.attempt >= retry.maxTries',
      to: 'failure.attempt > retry.maxTries',
      why: 'one try too many',
    },
    {
      from: 'failure.attempt >= retry.maxTries',
      to: 'failure.attempt >= retry.maxTries - 1',
      why: 'one try too few',
    },
    { from: ' || failure.retryable === false', to: '', why: 'what no try can help is tried again' },
    {
      from: 'const next = failure.attempt + 1',
      to: 'const next = failure.attempt',
      why: 'all tries have one number',
    },
    { from: 'if (waitMs === 0)', to: 'if (waitMs >= 0)', why: 'no wait between tries' },
    {
      from: 'const dueMs = context.atMs + waitMs',
      to: 'const dueMs = waitMs',
      why: 'a wait between tries is long past',
    },
    { from: '  context.state.busy++;\n', to: '', why: 'a try to come is not counted' },
    {
      from: 'retry.backoff ** (attempt - 1)',
      to: 'retry.backoff ** attempt',
      why: 'the wait grows one step too far',
    },
    {
      from: 'Math.min(retry.maxWaitMs',
      to: 'Math.max(retry.maxWaitMs',
      why: 'the ceiling of the wait is its floor',
    },
    { from: 'retry.waitMs === 0 ? 0 : ', to: '', why: 'no wait becomes no number after many tries' },
    { from: '(1 - retry.jitter', to: '(1 + retry.jitter', why: 'jitter makes the wait longer' },
    {
      from: 'Math.max(Math.round(drawn), failure.retryAfterMs ?? 0)',
      to: 'failure.retryAfterMs ?? Math.round(drawn)',
      why: 'the other side shortens the wait',
    },
    {
      from: 'Math.max(Math.round(drawn), failure.retryAfterMs ?? 0)',
      to: 'Math.round(drawn)',
      why: 'the other side is not heard',
    },
    {
      from: 'subflow?.collectErrors)',
      to: 'subflow?.collectErrors && !container.handlesError)',
      why: 'an error port comes before the collecting of errors',
    },
    {
      from: '    if (container.handlesError) return',
      to: '    if (inner.parent.parent && container.handlesError) return',
      why: 'error ports of outer containers are not seen',
    },
    {
      from: "  if (!subflow) level.frame.cells[index] = 'error';\n",
      to: '',
      why: 'a failed block is still at work',
    },
    {
      from: 'handlesError ? { of',
      to: 'handlesError && !subflow ? { of',
      why: 'a container that fails by itself does not take its error port',
    },
    {
      from: "    context.tasks.push({ do: 'settle', level, index, cell: 'error' });\n",
      to: "    context.tasks.push({ do: 'settle', level, index, cell: 'source' });\n",
      why: 'a failed block leaves by `source`',
    },
    {
      from: '...(failure.timedOut && { timedOut: true })',
      to: '...{}',
      why: 'nobody is told that the time was up',
    },
  ]),
];
