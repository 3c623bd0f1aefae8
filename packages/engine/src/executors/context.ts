import { isJsonObject, getOwn, resolveTemplate } from '@heddle/core/blocks';
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
import type { EngineContext, ExecutorServices, FieldContext } from './services.ts';

/** The data and services of an attempt of a block. */
export interface BlockContextOptions {
  runId: string;
  workflowId: string;
  block: BlockConfig;
  scope: readonly number[];
  try: number;
  signal: AbortSignal;
  /** Deadline of the block or the run, in milliseconds since the epoch; absent: none. */
  deadlineMs?: number | undefined;
  clock: Clock;
  step: EngineContext['step'];
  /** Returns the answers to earlier pauses of the block. Default: none. */
  answers?: EngineContext['answers'];
  services: ExecutorServices;
  /** Values that replace resolved fields; absent: none. */
  fieldOverrides?: JsonObject | undefined;
  /** Default: the lookup of `services`. */
  lookup?: Lookup;
  /** Called for each field that is read, with its value. */
  onRead?(name: string, value: Json): void;
  /** Receives the emissions of the block while it runs; absent: they are dropped. */
  emit?(emission: BlockEmission): void;
  /**
   * Ids of the blocks whose output `sourceOutput` may return. It returns that of the first block that has run. Default:
   * all source blocks.
   */
  liveSources?: readonly string[];
}

/** Returns the context of one attempt of a block. Field values are copies, so executors may modify them. */
export function createBlockContext(options: BlockContextOptions): EngineContext {
  return new LazyBlockContext(options);
}

/** Returns the key of an execution of a block: `runId/blockId/scope`. */
export function idempotencyKeyOf(runId: string, blockId: string, scope: readonly number[]): string {
  return [runId, blockId, ...scope].join('/');
}

type FieldMode = NonNullable<Parameters<EngineContext['field']>[1]>;

/** Most blocks use few members, so expensive ones are created on access. */
class LazyBlockContext implements EngineContext {
  readonly runId: string;
  readonly workflowId: string;
  readonly block: BlockConfig;
  readonly scope: readonly number[];
  readonly attempt: number;
  readonly clock: Clock;
  readonly #options: BlockContextOptions;
  /** Services of a pause block: its references to itself resolve to its resume URLs. */
  #pauseServices: ExecutorServices | undefined;

  constructor(options: BlockContextOptions) {
    this.runId = options.runId;
    this.workflowId = options.workflowId;
    this.block = options.block;
    this.scope = options.scope;
    this.attempt = options.try;
    this.clock = options.clock;
    this.#options = options;
  }

  get idempotencyKey(): string {
    return idempotencyKeyOf(this.runId, this.block.id, this.scope);
  }

  get signal(): AbortSignal {
    return this.#options.signal;
  }

  get services(): ExecutorServices {
    const { services } = this.#options;
    if (this.block.type !== 'human_in_the_loop') return services;
    return (this.#pauseServices ??= { ...services, lookup: withResumeUrls(this.block.id, services) });
  }

  get remainingMs(): number | undefined {
    const { deadlineMs } = this.#options;
    return deadlineMs === undefined ? undefined : Math.max(0, deadlineMs - this.clock.now());
  }

  // Bound, because blocks may destructure the context.
  get field(): EngineContext['field'] {
    return (name, mode = 'text') => this.#read(name, mode);
  }

  get fields(): EngineContext['fields'] {
    return () =>
      Object.fromEntries(
        Object.keys(this.block.params).map((name) => [name, this.#read(name, 'native') ?? null]),
      );
  }

  get emit(): EngineContext['emit'] {
    return (emission) => this.#options.emit?.(emission);
  }

  get step(): EngineContext['step'] {
    return this.#options.step;
  }

  get answers(): EngineContext['answers'] {
    return async () => (await this.#options.answers?.()) ?? [];
  }

  get sourceOutput(): EngineContext['sourceOutput'] {
    return () => {
      const { block } = this;
      const options = this.#options;
      return copyValue(sourceOutput(options.liveSources ?? block.sources, block, this.#lookup));
    };
  }

  get #lookup(): Lookup {
    if (this.block.type === 'human_in_the_loop') return this.services.lookup;
    return this.#options.lookup ?? this.services.lookup;
  }

  #read(name: string, mode: FieldMode): Json | undefined {
    const template = Object.hasOwn(this.block.params, name) ? this.block.params[name] : undefined;
    if (template === undefined) return undefined;
    const replacement = getOwn(this.#options.fieldOverrides ?? {}, name);
    const value = replacement === undefined ? this.#resolve(name, template, mode) : replacement;
    this.#options.onRead?.(name, value);
    return copyValue(value);
  }

  #resolve(name: string, template: Template, mode: FieldMode): Json {
    const lookup = this.#lookup;
    const reader = fieldReader(this.block.type, name);
    return reader ? reader(template, this.#fieldContext(lookup)) : resolveField(template, lookup, mode);
  }

  #fieldContext(lookup: Lookup): FieldContext {
    const options = this.#options;
    return {
      lookup,
      get compat() {
        return options.services.run.compat;
      },
      field: (name) => this.#read(name, 'text'),
    };
  }
}

function resolveField(template: Template, lookup: Lookup, mode: FieldMode): Json {
  return mode === 'json' ? resolveJson(template, lookup) : resolveTemplate(template, lookup, mode);
}

/** Returns a copy, because the run shares its values with all readers. */
function copyValue<T extends Json | undefined>(value: T): T {
  return typeof value === 'object' && value !== null ? (jsonCopy(value, 'A field').json as T) : value;
}

/**
 * Returns the output of the first source that has run. Skips containers around the block: their output is that of
 * an earlier execution.
 */
function sourceOutput(sources: readonly string[], { containers }: BlockConfig, lookup: Lookup): JsonObject {
  for (const blockId of sources) {
    if (containers.includes(blockId)) continue;
    const sourceResult = lookup.block({
      kind: 'block',
      text: blockId,
      block: blockId,
      up: 0,
      into: [],
      path: [],
    });
    if (sourceResult.ran) return isJsonObject(sourceResult.output) ? sourceResult.output : {};
  }
  return {};
}

/**
 * Returns the id of the first block that `port` of the node leads to; undefined if there is none. Implements
 * `services.target` of executors.
 */
export function targetOf(region: Region, nodeIndex: number, port: string): string | undefined {
  const targetIndex = region.nodes[nodeIndex]?.outs.find((candidateIndex) =>
    region.nodes[candidateIndex]?.ins.some((edge) => edge.from === nodeIndex && edge.port === port),
  );
  return targetIndex === undefined ? undefined : region.nodes[targetIndex]?.id;
}

/** Returns the ports by which edges leave the node, without repetitions. Implements `services.ports` of executors. */
export function portsOf(region: Region, nodeIndex: number): string[] {
  const targetIndexes = region.nodes[nodeIndex]?.outs ?? [];
  const edges = targetIndexes
    .flatMap((targetIndex) => region.nodes[targetIndex]?.ins ?? [])
    .filter(({ from }) => from === nodeIndex);
  return [...new Set(edges.map(({ port }) => port))];
}

/**
 * Returns the lookup for the fields of a pause: a reference to the pause itself resolves to its resume URLs, not to
 * its output from an earlier iteration.
 */
function withResumeUrls(blockId: string, services: ExecutorServices): Lookup {
  const { lookup } = services;
  return {
    block: (ref) =>
      ref.block === blockId ? { ran: true, output: { ...services.pauseLinks?.() } } : lookup.block(ref),
    container: (ref) => lookup.container(ref),
    results: (ref) => lookup.results(ref),
    variable: (id) => lookup.variable(id),
    env: (name) => lookup.env(name),
    describe: (id) => lookup.describe(id),
  };
}
