import type { Json, JsonObject } from '@heddle/core';
import { isJsonObject } from '@heddle/core/blocks';
import type { Span } from '@heddle/core/run';
import type { Engine } from '@heddle/engine';

/** Block types that call a model. Costs are read only from their outputs: other outputs contain data of callers. */
const MODEL_BLOCKS: ReadonlySet<string> = new Set([
  'agent',
  'evaluator',
  'image_generator',
  'router',
  'router_v2',
  'translate',
  'vision',
]);

/** The model usage of a block, from its output. Fields that the output lacks are absent. */
export interface ModelUsage {
  model?: string;
  tokens?: { input?: number; output?: number; total?: number };
  /** In USD; `totalMicros` is the total in millionths of a dollar. */
  cost?: { input?: number; output?: number; toolCost?: number; total?: number; totalMicros?: number };
  toolCalls?: LoggedToolCall[];
}

/** A tool call in the output of a block that calls a model. */
export interface LoggedToolCall {
  name?: string;
  arguments?: Json;
  result?: Json;
  error?: string;
}

/** Returns whether blocks of the type call a model. */
export function callsModel(blockType: string): boolean {
  return MODEL_BLOCKS.has(blockType);
}

/** Returns the usage of the block; undefined for a block that calls no model, or whose output is not an object. */
export function usageOf(blockType: string, output: Json | undefined): ModelUsage | undefined {
  if (!callsModel(blockType) || !isJsonObject(output)) return undefined;
  const { model, tokens, cost } = output;
  const tokenCounts = numbersIn(tokens, ['input', 'output', 'total']);
  const amounts = numbersIn(cost, ['input', 'output', 'toolCost', 'total']);
  const total = amounts?.total === undefined ? undefined : costMicrosOf(amounts.total);
  return {
    ...(typeof model === 'string' && model !== '' && { model: model.slice(0, MAX_MODEL_LENGTH) }),
    ...(tokenCounts && { tokens: tokenCounts }),
    ...(amounts && { cost: { ...amounts, ...(total !== undefined && { totalMicros: total }) } }),
    ...toolCallsIn(output['toolCalls']),
  };
}

/** Converts US dollars to millionths of a dollar, rounded to an integer, so that sums of amounts are exact. */
export function costMicrosOf(dollars: number): number {
  return Math.round(dollars * 1e6);
}

function toolCallsIn(value: Json | undefined): Pick<ModelUsage, 'toolCalls'> {
  const list = isJsonObject(value) ? value['list'] : undefined;
  if (!Array.isArray(list) || list.length === 0) return {};
  return { toolCalls: list.filter((call) => isJsonObject(call)).map(toToolCall) };
}

function toToolCall({ name, arguments: args, result, error }: JsonObject): LoggedToolCall {
  return {
    ...(typeof name === 'string' && { name }),
    ...(args !== undefined && { arguments: args }),
    ...(result !== undefined && { result }),
    ...(typeof error === 'string' && { error }),
  };
}

const MAX_MODEL_LENGTH = 200;

/** Returns the named fields that are non-negative finite numbers; undefined if there is none. */
function numbersIn<Name extends string>(
  value: Json | undefined,
  names: readonly Name[],
): { [name in Name]?: number } | undefined {
  if (!isJsonObject(value)) return undefined;
  const fields = names.flatMap((name) => {
    const number = value[name];
    return typeof number === 'number' && Number.isFinite(number) && number >= 0 ? [[name, number]] : [];
  });
  return fields.length === 0 ? undefined : (Object.fromEntries(fields) as { [name in Name]?: number });
}

/** Returns the spans of a run that called a model, with their usage. */
export async function modelUsagesOf(
  engine: Pick<Engine, 'readValue'>,
  root: Span,
): Promise<{ name: string; usage: ModelUsage }[]> {
  const usages: { name: string; usage: ModelUsage }[] = [];
  const queue = [root];
  for (const span of queue) {
    for (const child of span.children) queue.push(child);
    if (!callsModel(span.type) || !span.output) continue;
    const usage = usageOf(span.type, await engine.readValue(span.output));
    if (usage) usages.push({ name: span.name, usage });
  }
  return usages;
}
