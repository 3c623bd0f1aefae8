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
  /** Failures that an error port has handled; they are part of `failed`. */
  handled: number;
  /** The latest execution. */
  spanId: string;
  status: Span['status'];
  durationMs: number | null;
  /** Containers: the iterations or branches of the latest execution. */
  iterations: StatusCounts | null;
}

/**
 * Returns the states of the blocks that have run. `scope` is the id of an iteration or branch: blocks in the containers around
 * it are counted only for their executions in it. Takes O(spans).
 */
export function statesOf(root: Span, scope: string): BlockState[] {
  const wanted = scope === '' ? '' : `${root.id}/${scope}`;
  const states = new Map<string, BlockState>();
  const open = [root];
  for (let span = open.pop(); span; span = open.pop()) {
    if (span.blockId !== undefined) add(states, span, root);
    // Not as arguments: a span can have more children than a call can have arguments.
    for (const child of selectedIn(span.children, wanted).toReversed()) open.push(child);
  }
  return [...states.values()];
}

/** Returns only the iteration that contains the wanted span, if one of these spans does; else all spans. */
function selectedIn(spans: readonly Span[], wanted: string): readonly Span[] {
  if (wanted === '') return spans;
  const chosen = spans.find(
    ({ index, id }) => index !== undefined && (id === wanted || wanted.startsWith(`${id}/`)),
  );
  return chosen ? [chosen] : spans;
}

function add(states: Map<string, BlockState>, span: Span, root: Span): void {
  const blockId = span.blockId as string;
  const before = states.get(blockId) ?? { ...noCounts(), blockId, handled: 0 };
  const isContainer = span.children.some(({ index }) => index !== undefined);
  const state: BlockState = {
    ...before,
    total: before.total + 1,
    [span.status]: before[span.status] + 1,
    handled: before.handled + (span.errorHandled ? 1 : 0),
    spanId: publicIdOf(span, root),
    status: span.status,
    durationMs: span.durationMs ?? null,
    iterations: isContainer ? countsOf(span.children) : null,
  };
  states.set(blockId, state);
}

function noCounts(): StatusCounts {
  return { total: 0, running: 0, paused: 0, completed: 0, failed: 0, cancelled: 0 };
}

function countsOf(spans: readonly Span[]): StatusCounts {
  const counts = noCounts();
  for (const { status } of spans) {
    counts.total += 1;
    counts[status] += 1;
  }
  return counts;
}
