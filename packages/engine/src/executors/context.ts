import { isJsonObject, resolveTemplate } from '@heddle/core/blocks';
import type {
  BlockConfig,
  BlockEmission,
  Clock,
  Json,
  JsonObject,
  Lookup,
  Region,
  Template,
} from '@heddle/core/blocks';
import { resolveJson } from '@heddle/core/fields';
import { jsonCopy } from '../json-copy.ts';
import { fieldReader } from './fields.ts';
import { withOwnLinks } from './pause-links.ts';
import type { EngineContext, ExecutorServices, FieldContext } from './services.ts';

/** What a driver knows when a block is to run. */
export interface ContextParts {
  runId: string;
  workflowId: string;
  block: BlockConfig;
  scope: readonly number[];
  try: number;
  signal: AbortSignal;
  /** When the block's or the run's time is up, in milliseconds since the epoch; absent: never. */
  deadlineMs?: number | undefined;
  clock: Clock;
  services: ExecutorServices;
  /** Default: that of `services`. */
  lookup?: Lookup;
  /** Told of each field that is read, with its value. */
  onRead?(name: string, value: Json): void;
  /** Told of what the block tells while it runs; absent: nobody hears it. */
  emit?(emission: BlockEmission): void;
  /** Ids of the blocks whose edges into this one are live, in edge order; absent: any source that has run. */
  liveSources?: readonly string[];
}

/** The context of one try of a block. What an executor gets of its fields is its own to change. */
export function createBlockContext(parts: ContextParts): EngineContext {
  return new BlockAttempt(parts);
}

type FieldMode = NonNullable<Parameters<EngineContext['field']>[1]>;

/** Most blocks ask for little, so what costs something is made when it is asked for. */
class BlockAttempt implements EngineContext {
  readonly runId: string;
  readonly workflowId: string;
  readonly block: BlockConfig;
  readonly scope: readonly number[];
  readonly attempt: number;
  readonly clock: Clock;
  private readonly parts: ContextParts;

  constructor(parts: ContextParts) {
    this.runId = parts.runId;
    this.workflowId = parts.workflowId;
    this.block = parts.block;
    this.scope = parts.scope;
    this.attempt = parts.try;
    this.clock = parts.clock;
    this.parts = parts;
  }

  get idempotencyKey(): string {
    return [this.runId, this.block.id, ...this.scope].join('/');
  }

  get signal(): AbortSignal {
    return this.parts.signal;
  }

  get services(): ExecutorServices {
    return this.parts.services;
  }

  get remainingMs(): number | undefined {
    const { deadlineMs } = this.parts;
    return deadlineMs === undefined ? undefined : Math.max(0, deadlineMs - this.clock.now());
  }

  // Made when they are asked for, and bound: they may be taken off the object.
  get field(): EngineContext['field'] {
    return (name, mode = 'text') => this.read(name, mode);
  }

  get fields(): EngineContext['fields'] {
    return () =>
      Object.fromEntries(
        Object.keys(this.block.params).map((name) => [name, this.read(name, 'native') ?? null]),
      );
  }

  get emit(): EngineContext['emit'] {
    return (emission) => this.parts.emit?.(emission);
  }

  get sourceOutput(): EngineContext['sourceOutput'] {
    return () => {
      const { parts, block } = this;
      return ownCopy(sourceOutput(parts.liveSources ?? block.sources, block, lookupOf(parts)));
    };
  }

  private read(name: string, mode: FieldMode): Json | undefined {
    const template = Object.hasOwn(this.block.params, name) ? this.block.params[name] : undefined;
    if (template === undefined) return undefined;
    const lookup = lookupOf(this.parts);
    const reader = fieldReader(this.block.type, name);
    const value = reader ? reader(template, this.scene(lookup)) : resolved(template, lookup, mode);
    this.parts.onRead?.(name, value);
    return ownCopy(value);
  }

  private scene(lookup: Lookup): FieldContext {
    const { parts } = this;
    return {
      lookup,
      get compat() {
        return parts.services.run.compat;
      },
      field: (name) => this.read(name, 'text'),
    };
  }
}

function resolved(template: Template, lookup: Lookup, mode: FieldMode): Json {
  return mode === 'json' ? resolveJson(template, lookup) : resolveTemplate(template, lookup, mode);
}

function lookupOf({ block, services, lookup }: ContextParts): Lookup {
  return block.type === 'human_in_the_loop' ? withOwnLinks(block.id, services) : (lookup ?? services.lookup);
}

/** What the run holds is shared by all who read it. */
function ownCopy<T extends Json | undefined>(value: T): T {
  return typeof value === 'object' && value !== null ? (jsonCopy(value, 'A field').json as T) : value;
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
