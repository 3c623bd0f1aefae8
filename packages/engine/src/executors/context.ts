import { isJsonObject, resolveTemplate } from '@heddle/core/blocks';
import type { BlockConfig, Clock, Json, JsonObject, Lookup, Region } from '@heddle/core/blocks';
import { withOwnLinks } from './pause-links.ts';
import type { EngineContext, ExecutorServices } from './services.ts';

/** What a driver knows when a block is to run. */
export interface ContextParts {
  runId: string;
  workflowId: string;
  block: BlockConfig;
  scope: readonly number[];
  try: number;
  signal: AbortSignal;
  /** When the block's or the run's time is up, in milliseconds since the epoch; absent: never. */
  deadlineMs?: number;
  clock: Clock;
  services: ExecutorServices;
  /** Ids of the blocks whose edges into this one are live, in edge order; absent: any source that has run. */
  liveSources?: readonly string[];
}

/** The context of one try of a block: its fields are resolved against `services.lookup` when they are asked for. */
export function createBlockContext(parts: ContextParts): EngineContext {
  const { block, services, deadlineMs, clock } = parts;
  const lookup = block.type === 'human_in_the_loop' ? withOwnLinks(block.id, services) : services.lookup;
  return {
    runId: parts.runId,
    workflowId: parts.workflowId,
    block,
    scope: parts.scope,
    try: parts.try,
    idempotencyKey: [parts.runId, block.id, ...parts.scope].join('/'),
    signal: parts.signal,
    remainingMs: deadlineMs === undefined ? undefined : Math.max(0, deadlineMs - clock.now()),
    clock,
    services,
    field: (name, mode = 'text') => field(block, name, lookup, mode),
    fields: () =>
      Object.fromEntries(
        Object.keys(block.params).map((name) => [name, field(block, name, lookup, 'native') ?? null]),
      ),
    sourceOutput: () => sourceOutput(parts.liveSources ?? block.sources, block, lookup),
  };
}

function field(block: BlockConfig, name: string, lookup: Lookup, mode: 'text' | 'native'): Json | undefined {
  const template = Object.hasOwn(block.params, name) ? block.params[name] : undefined;
  return template === undefined ? undefined : resolveTemplate(template, lookup, mode);
}

/** A container around the block leads to it too, but its output is that of an earlier time it ran. */
function sourceOutput(sources: readonly string[], { containers }: BlockConfig, lookup: Lookup): JsonObject {
  for (const block of sources) {
    if (containers.includes(block)) continue;
    const found = lookup.block({ kind: 'block', text: block, block, up: 0, into: [], path: [] });
    if (found.ran) return isJsonObject(found.output) ? found.output : {};
  }
  return {};
}

/** Id of the first block that an edge of `node` leads to by `port`, or undefined: an executor's `services.target`. */
export function targetOf(region: Region, node: number, port: string): string | undefined {
  const target = region.nodes[node]?.outs.find((out) =>
    region.nodes[out]?.ins.some((edge) => edge.from === node && edge.port === port),
  );
  return target === undefined ? undefined : region.nodes[target]?.id;
}
