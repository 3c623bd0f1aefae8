import type { BlockFailure } from './entry.ts';
import type { BlockLog, LogScope } from './block-log.ts';
import type { RunRecord } from './run-record.ts';
import type { StoredValue } from './stored-value.ts';

/** Version of the shape of spans. */
export const SPAN_FORMAT = 1;

/** A period of a run: the run, a container, an iteration or branch of a container, or a block. */
export interface Span {
  /**
   * Unique in the trace and equal in every projection of the run: run id, block ids and iteration or branch numbers on
   * the path from the root to the span.
   */
  id: string;
  name: string;
  /** `run`, `iteration`, `branch`, or the block's type. */
  type: string;
  status: BlockLog['status'];
  startMs: number;
  /** Undefined while the span is open. */
  endMs: number | undefined;
  durationMs: number | undefined;
  blockId: string | undefined;
  executionOrder: number | undefined;
  /** Iterations and branches: the number, from 0. */
  index: number | undefined;
  attempts: number | undefined;
  errorHandled: boolean;
  error: BlockFailure | undefined;
  input: StoredValue | undefined;
  output: StoredValue | undefined;
  children: Span[];
}

/**
 * Returns the trace of a run: a root span whose descendants are its blocks, grouped by container and by iteration or
 * branch.
 *
 * Takes O(n log n) in the number of logs. A container without a log gets its times and status from the spans in it.
 */
export function traceOf(record: RunRecord, logs: readonly BlockLog[]): Span {
  const root = rootSpanOf(record);
  const spans = new Map<string, Span>();
  for (const log of logs.toSorted((a, b) => a.executionOrder - b.executionOrder)) {
    let parent = root;
    for (const scope of [...log.parents, ...(log.container ? [log.container] : [])]) {
      parent = findOrAddIteration(findOrAddContainer(parent, scope, spans), scope, spans);
    }
    const id = `${parent.id}/${log.blockId}`;
    const existingSpan = spans.get(id);
    const span = { ...spanFromLog(id, log), children: existingSpan?.children ?? [] };
    if (existingSpan) Object.assign(existingSpan, span);
    else addChild(parent, span, spans);
  }
  finishSpan(root);
  return root;
}

function rootSpanOf(record: RunRecord): Span {
  const startMs = record.startedMs ?? record.createdMs;
  const status = record.status === 'queued' ? 'running' : record.status;
  return {
    ...emptySpan(record.runId, { name: record.workflowName, type: 'run', status, startMs }),
    endMs: record.endedMs,
    durationMs: record.endedMs === undefined ? undefined : record.endedMs - startMs,
    error: record.error,
    input: record.input,
    output: record.output,
  };
}

function findOrAddContainer(parent: Span, scope: LogScope, spans: Map<string, Span>): Span {
  const id = `${parent.id}/${scope.blockId}`;
  const span = emptySpan(id, {
    name: scope.blockId,
    type: scope.kind,
    status: 'running',
    startMs: Infinity,
  });
  return spans.get(id) ?? addChild(parent, { ...span, blockId: scope.blockId }, spans);
}

function findOrAddIteration(container: Span, scope: LogScope, spans: Map<string, Span>): Span {
  const id = `${container.id}/${scope.index}`;
  const type = scope.kind === 'loop' ? 'iteration' : 'branch';
  const span = emptySpan(id, {
    name: `${type} ${scope.index}`,
    type,
    status: 'completed',
    startMs: Infinity,
  });
  return spans.get(id) ?? addChild(container, { ...span, index: scope.index }, spans);
}

function addChild(parent: Span, span: Span, spans: Map<string, Span>): Span {
  parent.children.push(span);
  spans.set(span.id, span);
  return span;
}

function spanFromLog(id: string, log: BlockLog): Omit<Span, 'children'> {
  return {
    id,
    name: log.blockName,
    type: log.blockType,
    status: log.status,
    startMs: log.startedMs,
    endMs: log.endedMs,
    durationMs: log.durationMs,
    blockId: log.blockId,
    executionOrder: log.executionOrder,
    index: undefined,
    attempts: log.tries,
    errorHandled: log.errorHandled,
    error: log.error,
    input: log.input,
    output: log.output,
  };
}

function emptySpan(id: string, fields: Pick<Span, 'name' | 'type' | 'status' | 'startMs'>): Span {
  return {
    id,
    ...fields,
    endMs: undefined,
    durationMs: undefined,
    blockId: undefined,
    executionOrder: undefined,
    index: undefined,
    attempts: undefined,
    errorHandled: false,
    error: undefined,
    input: undefined,
    output: undefined,
    children: [],
  };
}

/** Derives the times and the status of iterations, and of containers without a log, from their children. */
function finishSpan(span: Span): void {
  for (const child of span.children) finishSpan(child);
  if (span.startMs !== Infinity) return;
  const { children } = span;
  span.startMs = children.reduce((first, child) => Math.min(first, child.startMs), Infinity);
  const openChild = children.find((child) => child.status === 'running' || child.status === 'paused');
  const failedChild = children.find((child) => child.status === 'failed' && !child.errorHandled);
  span.status =
    openChild?.status ??
    failedChild?.status ??
    (children.some(({ status }) => status === 'cancelled') ? 'cancelled' : 'completed');
  if (openChild) return;
  span.endMs = children.reduce((last, child) => Math.max(last, child.endMs ?? child.startMs), -Infinity);
  span.durationMs = span.endMs - span.startMs;
}
