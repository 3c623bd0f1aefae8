import type { Span } from '@heddle/core/run';
import { publicIdOf } from './flat-spans.ts';

/** The number of spans with each status. */
export interface StatusCounts {
  total: number;
  running: number;
  paused: number;
  completed: number;
  failed: number;
  cancelled: number;
}

/** The executions of a block: all of them, or those of one iteration. */
export interface BlockState extends StatusCounts {
  blockId: string;
  /** Failures that an error port has handled; they are included in `failed`. */
  handled: number;
  /** The span of the latest execution. */
  spanId: string;
  status: Span['status'];
  durationMs: number | null;
  /** Containers: the iterations or branches of the latest execution. */
  iterations: StatusCounts | null;
}

/**
 * Returns the states of the blocks that have run. `scope` is the id of an iteration or branch: the other iterations of
 * the containers around it are not counted. Takes O(spans).
 */
export function statesOf(root: Span, scope: string): BlockState[] {
  const scopeId = scope === '' ? '' : `${root.id}/${scope}`;
  const states = new Map<string, BlockState>();
  const stack = [root];
  for (let span = stack.pop(); span; span = stack.pop()) {
    if (span.blockId !== undefined) countSpan(states, span, root);
    // One by one: a span can have more children than a function call can have arguments.
    for (const child of spansInScope(span.children, scopeId).toReversed()) stack.push(child);
  }
  return [...states.values()];
}

/** Returns only the iteration that is or contains the scope, if the spans have one; otherwise all spans. */
function spansInScope(spans: readonly Span[], scopeId: string): readonly Span[] {
  if (scopeId === '') return spans;
  const iteration = spans.find(
    ({ index, id }) => index !== undefined && (id === scopeId || scopeId.startsWith(`${id}/`)),
  );
  return iteration ? [iteration] : spans;
}

function countSpan(states: Map<string, BlockState>, span: Span, root: Span): void {
  const blockId = span.blockId as string;
  const previous = states.get(blockId) ?? { ...zeroCounts(), blockId, handled: 0 };
  const isContainer = span.children.some(({ index }) => index !== undefined);
  const state: BlockState = {
    ...previous,
    total: previous.total + 1,
    [span.status]: previous[span.status] + 1,
    handled: previous.handled + (span.errorHandled ? 1 : 0),
    spanId: publicIdOf(span, root),
    status: span.status,
    durationMs: span.durationMs ?? null,
    iterations: isContainer ? countsOf(span.children) : null,
  };
  states.set(blockId, state);
}

function zeroCounts(): StatusCounts {
  return { total: 0, running: 0, paused: 0, completed: 0, failed: 0, cancelled: 0 };
}

function countsOf(spans: readonly Span[]): StatusCounts {
  const counts = zeroCounts();
  for (const { status } of spans) {
    counts.total += 1;
    counts[status] += 1;
  }
  return counts;
}
