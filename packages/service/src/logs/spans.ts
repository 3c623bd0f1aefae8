import type { Json } from '@heddle/core';
import type { Span, StoredValue } from '@heddle/core/run';
import type { Engine } from '@heddle/engine';
import { modelUsagesOf, usageOf } from './usage.ts';
import type { ModelUsage } from './usage.ts';

/** A span as the API returns it. */
export interface TraceSpan {
  id: string;
  name: string;
  type: string;
  status: Span['status'];
  startTime: string;
  endTime?: string;
  durationMs?: number;
  relativeStartMs: number;
  blockId?: string;
  errorHandled?: boolean;
  errorType?: string;
  errorMessage?: string;
  input?: Json;
  output?: Json;
  tokens?: ModelUsage['tokens'];
  cost?: ModelUsage['cost'];
  toolCalls?: ModelUsage['toolCalls'];
  children?: TraceSpan[];
}

/** The remaining budget of a response: spans, and bytes of their inputs and outputs. */
export interface TraceBudget {
  spans: number;
  bytes: number;
}

/** Limits of one response. Spans and values beyond them are omitted. */
export const TRACE_BUDGET: Readonly<TraceBudget> = { spans: 10_000, bytes: 8 * 2 ** 20 };

/** An item of the cost of a run. */
export interface CostItem {
  category: 'fixed' | 'model' | 'tool';
  description: string;
  cost: number;
  inputTokens?: number;
  outputTokens?: number;
}

type ValueReader = Pick<Engine, 'readValue'>;

/**
 * Returns the spans of a run's blocks, without the span of the run itself. Reduces `budget` by their size: spans and
 * values beyond it are omitted, and so are outputs of containers, because the spans inside have the same values.
 */
export async function readTraceSpans(
  engine: ValueReader,
  root: Span,
  budget: TraceBudget,
): Promise<TraceSpan[]> {
  return childrenOf(engine, root, { budget, rootId: root.id, startMs: root.startMs });
}

interface TraceContext {
  budget: TraceBudget;
  rootId: string;
  startMs: number;
}

async function childrenOf(engine: ValueReader, span: Span, context: TraceContext): Promise<TraceSpan[]> {
  const spans: TraceSpan[] = [];
  for (const child of span.children) {
    if (context.budget.spans <= 0) break;
    context.budget.spans -= 1;
    spans.push(await spanOf(engine, child, context));
  }
  return spans;
}

async function spanOf(engine: ValueReader, span: Span, context: TraceContext): Promise<TraceSpan> {
  const { budget, rootId, startMs } = context;
  const { input, output } = await valuesOf(engine, span, budget);
  const { tokens, cost, toolCalls } = usageOf(span.type, output) ?? {};
  const children = await childrenOf(engine, span, context);
  return {
    // Without the engine's id of the run: callers know runs by their own ids.
    id: span.id.slice(rootId.length + 1),
    name: span.name,
    type: span.type,
    status: span.status,
    startTime: new Date(span.startMs).toISOString(),
    relativeStartMs: span.startMs - startMs,
    ...(span.endMs !== undefined && { endTime: new Date(span.endMs).toISOString() }),
    ...(span.durationMs !== undefined && { durationMs: span.durationMs }),
    ...(span.blockId !== undefined && { blockId: span.blockId }),
    ...errorOf(span),
    ...(input !== undefined && { input }),
    ...(output !== undefined && { output }),
    ...(tokens && { tokens }),
    ...(cost && { cost }),
    ...(toolCalls && { toolCalls }),
    ...(children.length > 0 && { children }),
  };
}

function errorOf({
  error,
  errorHandled,
}: Span): Pick<TraceSpan, 'errorHandled' | 'errorType' | 'errorMessage'> {
  return error ? { errorHandled, errorType: error.code, errorMessage: error.message } : {};
}

async function valueOf(
  engine: ValueReader,
  storedValue: StoredValue | undefined,
  budget: TraceBudget,
): Promise<Json | undefined> {
  if (!storedValue || 'results' in storedValue) return undefined;
  return consumeBytes(storedValue, budget) ? engine.readValue(storedValue) : undefined;
}

/** Reduces the budget by the bytes of a value. If they exceed the budget, leaves it unchanged and returns false. */
export function consumeBytes(storedValue: StoredValue, budget: TraceBudget): boolean {
  const bytes = bytesOf(storedValue);
  if (bytes > budget.bytes) return false;
  budget.bytes -= bytes;
  return true;
}

/** Returns the size of a value as JSON text. */
export function bytesOf(storedValue: StoredValue): number {
  if ('v' in storedValue) return Buffer.byteLength(JSON.stringify(storedValue.v));
  if ('ref' in storedValue) return storedValue.ref.bytes;
  return storedValue.results.flat().reduce((sum, value) => sum + bytesOf(value), 0);
}

/** Returns the cost items of a run. Reads the outputs of the blocks that call a model. */
export async function readCostItems(engine: ValueReader, root: Span): Promise<CostItem[]> {
  const usages = await modelUsagesOf(engine, root);
  return usages.flatMap(({ name, usage: { model, tokens, cost } }) => {
    if (cost?.total === undefined) return [];
    const { toolCost = 0, total } = cost;
    const modelItem: CostItem = {
      category: 'model',
      description: model ?? name,
      cost: Math.max(0, total - toolCost),
      ...(tokens?.input !== undefined && { inputTokens: tokens.input }),
      ...(tokens?.output !== undefined && { outputTokens: tokens.output }),
    };
    return toolCost > 0 ? [modelItem, { category: 'tool', description: name, cost: toolCost }] : [modelItem];
  });
}

/** Yields a span and its descendants, each before its own descendants. */
export function* walkSpans(root: Span): Generator<Span> {
  const stack = [root];
  for (let span = stack.pop(); span; span = stack.pop()) {
    yield span;
    // One by one: a span can have more children than a function call can have arguments.
    for (const child of span.children.toReversed()) stack.push(child);
  }
}

/** Returns the values of a span that readers may see. */
async function valuesOf(engine: ValueReader, span: Span, budget: TraceBudget) {
  const input = hidesInput(span) ? undefined : await valueOf(engine, span.input, budget);
  const output = hidesOutput(span) ? undefined : await valueOf(engine, span.output, budget);
  return { input, output };
}

/** Returns true for an open pause point: its output can contain the token to resume it, which readers must not get. */
export function hidesOutput({ status }: Pick<Span, 'status'>): boolean {
  return status === 'paused';
}

/** Returns true for a block at an open pause point: its fields can refer to the URL with the token. */
export function hidesInput({ status, blockId }: Pick<Span, 'status' | 'blockId'>): boolean {
  return status === 'paused' && blockId !== undefined;
}
