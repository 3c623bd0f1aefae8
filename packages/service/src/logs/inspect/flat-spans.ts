import type { Json } from '@heddle/core';
import { isJsonObject, getOwn } from '@heddle/core/blocks';
import type { Span } from '@heddle/core/run';
import { bytesOf, hidesInput, hidesOutput } from '../spans.ts';

/** A span without its values and children. */
export interface FlatSpan {
  id: string;
  /** Empty for a span directly below the run. */
  parentId: string;
  /** 0 for a span directly below the run. */
  depth: number;
  name: string;
  type: string;
  status: Span['status'];
  startTime: string;
  endTime: string | null;
  durationMs: number | null;
  relativeStartMs: number;
  blockId: string | null;
  /** Number of an iteration or branch, from 0; null for other spans. */
  index: number | null;
  executionOrder: number | null;
  attempts: number | null;
  errorHandled: boolean;
  /** `line`: where the code of a block threw, from 1; null for other errors. */
  error: { type: string; message: string; line: number | null } | null;
  /** Size as JSON text; null if there is no value or it is hidden. */
  inputBytes: number | null;
  outputBytes: number | null;
  childCount: number;
}

/** Selects spans of a trace. An absent property selects all. */
export interface SpanFilter {
  /** The descendants of this span. */
  under?: string | undefined;
  /** Only the children of `under`, or of the run. */
  direct?: boolean | undefined;
  status?: Span['status'] | undefined;
  blockId?: string | undefined;
  /** The iteration or branch with this number. */
  index?: number | undefined;
}

/** Returns the id of a span without the engine's id of the run: callers know runs by their own ids. */
export function publicIdOf(span: Span, root: Span): string {
  return span.id.slice(root.id.length + 1);
}

/** Returns the span with this public id; undefined if the run has none. The empty id is the id of the run. */
export function findSpan(root: Span, id: string): Span | undefined {
  if (id === '') return root;
  const targetId = `${root.id}/${id}`;
  let span: Span | undefined = root;
  while (span && span.id !== targetId) {
    span =
      span.children.find(({ id: childId }) => childId === targetId) ??
      span.children.find(({ id: childId }) => targetId.startsWith(`${childId}/`));
  }
  return span;
}

/**
 * Returns a page of spans, each before its children, and the position at which the next page begins. Takes O(spans).
 * Returns undefined if `under` is not a span of the run.
 */
export function pageOfSpans(
  root: Span,
  filter: SpanFilter,
  { offset, limit }: { offset: number; limit: number },
): { spans: FlatSpan[]; next: number | undefined } | undefined {
  const ancestor = findSpan(root, filter.under ?? '');
  if (!ancestor) return undefined;
  const spans: FlatSpan[] = [];
  let position = 0;
  let hasMore = false;
  const parents = [{ span: ancestor, depth: childDepthOf(root, ancestor), nextChildIndex: 0 }];
  while (parents.length > 0 && !hasMore) {
    const parent = parents.at(-1) as (typeof parents)[number];
    const child = parent.span.children[parent.nextChildIndex];
    if (!child) {
      parents.pop();
      continue;
    }
    parent.nextChildIndex += 1;
    if (matches(child, filter)) {
      if (spans.length === limit) hasMore = true;
      else if (position >= offset)
        spans.push(toFlatSpan(child, { root, parent: parent.span, depth: parent.depth }));
      position += 1;
    }
    if (filter.direct !== true) parents.push({ span: child, depth: parent.depth + 1, nextChildIndex: 0 });
  }
  return { spans, next: hasMore ? offset + limit : undefined };
}

/** Returns the depth of the children of a span. */
function childDepthOf(root: Span, parent: Span): number {
  let depth = 0;
  let span = root;
  while (span !== parent) {
    const nextSpan = span.children.find((child) => child === parent || parent.id.startsWith(`${child.id}/`));
    if (!nextSpan) return depth;
    span = nextSpan;
    depth += 1;
  }
  return depth;
}

function matches(span: Span, { status, blockId, index }: SpanFilter): boolean {
  return (
    (status === undefined || span.status === status) &&
    (blockId === undefined || span.blockId === blockId) &&
    (index === undefined || span.index === index)
  );
}

function toFlatSpan(
  span: Span,
  { root, parent, depth }: { root: Span; parent: Span; depth: number },
): FlatSpan {
  const { error } = span;
  return {
    id: publicIdOf(span, root),
    parentId: publicIdOf(parent, root),
    ...{ depth, name: span.name, type: span.type, status: span.status },
    startTime: new Date(span.startMs).toISOString(),
    endTime: span.endMs === undefined ? null : new Date(span.endMs).toISOString(),
    durationMs: span.durationMs ?? null,
    relativeStartMs: span.startMs - root.startMs,
    blockId: span.blockId ?? null,
    index: span.index ?? null,
    executionOrder: span.executionOrder ?? null,
    attempts: span.attempts ?? null,
    errorHandled: span.errorHandled,
    error: error ? { type: error.code, message: error.message, line: lineOf(error.details) } : null,
    inputBytes: span.input && !hidesInput(span) ? bytesOf(span.input) : null,
    outputBytes: span.output && !hidesOutput(span) ? bytesOf(span.output) : null,
    childCount: span.children.length,
  };
}

function lineOf(details: Json | undefined): number | null {
  const line = isJsonObject(details) ? getOwn(details, 'line') : undefined;
  return typeof line === 'number' && Number.isSafeInteger(line) && line > 0 ? line : null;
}
