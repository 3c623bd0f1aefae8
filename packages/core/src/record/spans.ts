import type { BlockFailure } from './entry.ts';
import type { BlockLog, LogScope } from './log.ts';
import type { RunRecord } from './run.ts';
import type { Stored } from './stored.ts';

/** Version of the shape of spans. */
export const SPAN_FORMAT = 1;

/** A stretch of a run's time: the run, a container, a turn or branch of one, or a block. */
export interface Span {
  /** Unique in the trace, equal for every projection of the same run: run id, block id and numbers on the way down. */
  id: string;
  name: string;
  /** `run`, `turn`, `branch`, or the block's type. */
  type: string;
  status: BlockLog['status'];
  startMs: number;
  /** Undefined while it is open. */
  endMs: number | undefined;
  durationMs: number | undefined;
  blockId: string | undefined;
  executionOrder: number | undefined;
  /** Turns and branches: which one, from 0. */
  index: number | undefined;
  attempts: number | undefined;
  errorHandled: boolean;
  error: BlockFailure | undefined;
  input: Stored | undefined;
  output: Stored | undefined;
  children: Span[];
}

/**
 * The trace of a run: one root span whose descendants are its blocks, grouped by container and by turn or branch.
 *
 * O(logs); a container that has no log of its own yet spans what is in it.
 */
export function traceOf(record: RunRecord, logs: readonly BlockLog[]): Span {
  const root = rootOf(record);
  const spans = new Map<string, Span>();
  for (const log of logs.toSorted((a, b) => a.executionOrder - b.executionOrder)) {
    let parent = root;
    for (const scope of [...log.parents, ...(log.container ? [log.container] : [])]) {
      parent = iterationIn(containerIn(parent, scope, spans), scope, spans);
    }
    const id = `${parent.id}/${log.blockId}`;
    const known = spans.get(id);
    const span = { ...fromLog(id, log), children: known?.children ?? [] };
    if (known) Object.assign(known, span);
    else add(parent, span, spans);
  }
  finishSpan(root);
  return root;
}

function rootOf(record: RunRecord): Span {
  const startMs = record.startedMs ?? record.createdMs;
  const status = record.status === 'queued' ? 'running' : record.status;
  return {
    ...blank(record.runId, { name: record.workflowName, type: 'run', status, startMs }),
    endMs: record.endedMs,
    durationMs: record.endedMs === undefined ? undefined : record.endedMs - startMs,
    error: record.error,
    input: record.input,
    output: record.output,
  };
}

function containerIn(parent: Span, scope: LogScope, spans: Map<string, Span>): Span {
  const id = `${parent.id}/${scope.blockId}`;
  const draft = blank(id, { name: scope.blockId, type: scope.kind, status: 'running', startMs: Infinity });
  return spans.get(id) ?? add(parent, { ...draft, blockId: scope.blockId }, spans);
}

function iterationIn(container: Span, scope: LogScope, spans: Map<string, Span>): Span {
  const id = `${container.id}/${scope.index}`;
  const type = scope.kind === 'loop' ? 'iteration' : 'branch';
  const span = blank(id, { name: `${type} ${scope.index}`, type, status: 'completed', startMs: Infinity });
  return spans.get(id) ?? add(container, { ...span, index: scope.index }, spans);
}

function add(parent: Span, span: Span, spans: Map<string, Span>): Span {
  parent.children.push(span);
  spans.set(span.id, span);
  return span;
}

function fromLog(id: string, log: BlockLog): Omit<Span, 'children'> {
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

function blank(id: string, given: Pick<Span, 'name' | 'type' | 'status' | 'startMs'>): Span {
  return {
    id,
    ...given,
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

/** Gives turns, and containers that have not logged, the time and the state of what is in them. */
function finishSpan(span: Span): void {
  for (const child of span.children) finishSpan(child);
  if (span.startMs !== Infinity) return;
  const { children } = span;
  span.startMs = children.reduce((first, child) => Math.min(first, child.startMs), Infinity);
  const open = children.find((child) => child.status === 'running' || child.status === 'paused');
  const failed = children.find((child) => child.status === 'failed' && !child.errorHandled);
  span.status =
    open?.status ??
    failed?.status ??
    (children.some(({ status }) => status === 'cancelled') ? 'cancelled' : 'completed');
  if (open) return;
  span.endMs = children.reduce((last, child) => Math.max(last, child.endMs ?? child.startMs), -Infinity);
  span.durationMs = span.endMs - span.startMs;
}
