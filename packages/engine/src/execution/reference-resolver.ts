import type { Json, JsonObject } from '@heddle/core';
import { isJsonObject, referencesIn } from '@heddle/core/blocks';
import { fileToRead, withContents } from '@heddle/core/files';
import type {
  BlockConfig,
  CodeTemplate,
  ExpressionTemplate,
  Lookup,
  Reference,
  Template,
} from '@heddle/core/blocks';
import type { FileRecord } from '@heddle/core/files';
import { scopeFrom } from '@heddle/core/run';
import type { BranchScope, Output, Place, RunState, StoredValue } from '@heddle/core/run';
import type { FileReader } from '../files/storage.ts';
import { readLoaded } from '../records/values.ts';
import type { LoadedValues, Values } from '../records/values.ts';

/**
 * The location of the output that a reference reads. `up`: the number of branches to leave. `into`: the parallels to
 * enter.
 */
type OutputAddress = { block: string; up: number; into: string[] };

const NO_VALUES: LoadedValues = new Map();

/** The sources from which the resolver fetches values and files. */
interface ResolverSources {
  values: Values;
  createFileReader: (this: void) => FileReader;
}

/** All data that a block's configuration reads. */
interface Reads {
  references: readonly Reference[];
  /** True if a path may select the content of a file. */
  mayReadFiles: boolean;
  /** Ids of the blocks with an edge into this one. Enclosing containers are omitted: they have no output yet. */
  sources: readonly string[];
}

/** The environment values that a block can read; `values` may be replaced while the run continues. */
interface EnvironmentValues {
  readonly values: { readonly [name: string]: string };
}

const readsByBlock = new WeakMap<BlockConfig, Reads>();

/** Resolves the references of one block, with the outputs that were visible when the block was about to run. */
export class ReferenceResolver implements Lookup {
  readonly #runState: RunState;
  readonly #place: Place;
  readonly #environment: EnvironmentValues;
  /** The iteration for which a loop's own condition is evaluated. */
  readonly #iteration: number | undefined;
  readonly #scope: BranchScope | undefined;
  /** The outputs at `prepare`, because they may change while the block waits for a slot or a result. */
  #outputs: Map<Reference, Output | undefined> | undefined;
  /** The source block that ended last, and its output at `prepare`. */
  #lastSourceId: string | undefined;
  #lastOutput: Output | undefined;
  #loaded: LoadedValues | undefined;
  /** File contents, by the reference that selects them. */
  #contents: Map<object, { file: FileRecord; content: string }> | undefined;

  constructor(runState: RunState, place: Place, environment: EnvironmentValues, iteration?: number) {
    this.#runState = runState;
    this.#place = place;
    this.#environment = environment;
    this.#iteration = iteration;
    this.#scope = runState.ledger.scopeAt(place);
  }

  /**
   * Fetches the large values and file contents that the block's configuration refers to. Returns undefined if there are
   * none.
   */
  prepare({ values, createFileReader }: ResolverSources): Promise<void> | undefined {
    const config = this.#runState.plan.blocks[this.#place.block];
    if (!config) return undefined;
    let reads = readsByBlock.get(config);
    if (!reads) readsByBlock.set(config, (reads = findReads(config)));
    const largeValues: StoredValue[] = [];
    for (const reference of reads.references) this.#capture(reference, largeValues);
    this.#captureLastOutput(reads.sources);
    for (const stored of [this.#lastOutput?.value, this.#runState.ledger.fieldOverridesAt(this.#place)])
      if (stored && !('v' in stored)) largeValues.push(stored);
    const fetching =
      largeValues.length === 0 ? undefined : values.fetch(largeValues, (this.#loaded = new Map()));
    return reads.mayReadFiles ? this.#readFiles(reads.references, createFileReader(), fetching) : fetching;
  }

  async #readFiles(
    references: readonly Reference[],
    readFile: FileReader,
    fetching: Promise<void> | undefined,
  ): Promise<void> {
    await fetching;
    const contents = new Map<object, { file: FileRecord; content: string }>();
    for (const reference of references) {
      const file = this.#fileAt(reference);
      if (!file) continue;
      const content = await readFile(file);
      if (content !== undefined) contents.set(reference, { file, content });
    }
    this.#contents = contents;
  }

  #fileAt(reference: Reference): FileRecord | undefined {
    if (reference.kind === 'block') {
      const source = this.block(reference);
      return source.ran ? fileToRead(source.output, reference.path) : undefined;
    }
    if (reference.kind !== 'container') return undefined;
    const { currentItem, items } = this.container(reference) ?? {};
    return fileToRead(reference.field === 'items' ? items : currentItem, reference.path);
  }

  #capture(reference: Reference, largeValues: StoredValue[]): void {
    let stored: StoredValue | undefined;
    if (reference.kind === 'container') stored = this.#containerItems(reference.block);
    else if (reference.kind === 'block' || reference.kind === 'results') {
      const output = this.#currentOutput(reference);
      (this.#outputs ??= new Map()).set(reference, output);
      stored = output?.value;
    }
    if (stored && !('v' in stored)) largeValues.push(stored);
  }

  #captureLastOutput(sources: readonly string[]): void {
    for (const id of sources) {
      const output = this.#scope?.outputs.get(id);
      if (!output || (this.#lastOutput && output.order < this.#lastOutput.order)) continue;
      this.#lastOutput = output;
      this.#lastSourceId = id;
    }
  }

  #currentOutput(reference: OutputAddress): Output | undefined {
    return this.#scope && scopeFrom(this.#scope, reference.up, reference.into)?.outputs.get(reference.block);
  }

  #outputAt(reference: OutputAddress): Output | undefined {
    if (this.#outputs?.has(reference as Reference)) return this.#outputs.get(reference as Reference);
    const isLast =
      this.#lastSourceId === reference.block && reference.up === 0 && reference.into.length === 0;
    return isLast ? this.#lastOutput : this.#currentOutput(reference);
  }

  #read(stored: StoredValue): Json {
    return 'v' in stored ? stored.v : readLoaded(stored, this.#loaded ?? NO_VALUES);
  }

  /** Returns the value with the content of the file that the reference selects. */
  #readFor(reference: object, stored: StoredValue): Json {
    const selection = this.#contents?.get(reference);
    if (!selection) return this.#read(stored);
    const { id, key } = selection.file;
    return withContents(this.#read(stored), (file) =>
      file.id === id && file.key === key ? selection.content : undefined,
    );
  }

  block(reference: OutputAddress): { ran: true; output: Json } | { ran: false } {
    const output = this.#outputAt(reference);
    return output ? { ran: true, output: this.#readFor(reference, output.value) } : { ran: false };
  }

  results(reference: OutputAddress): Json | undefined {
    const output = this.#outputAt(reference);
    const value = output && this.#read(output.value);
    return isJsonObject(value) ? value['results'] : undefined;
  }

  container(reference: { block: string }): { index: number; currentItem?: Json; items?: Json[] } | undefined {
    const index = this.#indexIn(reference.block);
    if (index === undefined) return undefined;
    const stored = this.#containerItems(reference.block);
    const items = stored && this.#readFor(reference, stored);
    if (!Array.isArray(items)) return { index };
    const currentItem = items[index];
    return currentItem === undefined ? { index, items } : { index, items, currentItem };
  }

  /** Returns the iteration or branch in which the block runs, for an enclosing container. */
  #indexIn(container: string): number | undefined {
    if (container === this.#place.block) return this.#iteration;
    return this.#place.scope[this.#containersAround(this.#place.block).indexOf(container)];
  }

  #containersAround(block: string): readonly string[] {
    return this.#runState.index.byId(block)?.containerIds ?? [];
  }

  #containerItems(container: string): StoredValue | undefined {
    const depth = this.#containersAround(container).length;
    const scope = this.#runState.ledger.scopeAt({
      block: container,
      scope: this.#place.scope.slice(0, depth),
    });
    return (scope?.loops.get(container) ?? scope?.parallels.get(container))?.items;
  }

  variable(id: string): Json | undefined {
    return this.#runState.ledger.variables.get(id);
  }

  env(name: string): string | undefined {
    const { values } = this.#environment;
    return Object.hasOwn(values, name) ? values[name] : undefined;
  }

  describe(blockId: string): { name: string; type: string; outputs?: NonNullable<BlockConfig['outputs']> } {
    const config = this.#runState.plan.blocks[blockId];
    const name = config?.name ?? blockId;
    const type = config?.type ?? 'unknown';
    return config?.outputs ? { name, type, outputs: config.outputs } : { name, type };
  }

  /** Returns the values that replace resolved fields of the block; undefined if there are none. */
  fieldOverrides(): JsonObject | undefined {
    const stored = this.#runState.ledger.fieldOverridesAt(this.#place);
    const values = stored && this.#read(stored);
    return isJsonObject(values) ? values : undefined;
  }

  /** Returns the id of the source block that ended last: the one from which the run reached this block. */
  lastSourceId(): string | undefined {
    return this.#lastSourceId;
  }
}

/** Returns every template of a block's configuration that may contain references. */
export function templatesOf(config: BlockConfig): (Template | CodeTemplate | ExpressionTemplate)[] {
  const { code, conditions = [], container, params } = config;
  return [
    ...Object.values(params),
    ...(code ? [code] : []),
    ...conditions.flatMap((row) => row.expression ?? []),
    ...containerTemplates(container),
  ];
}

function containerTemplates(container: BlockConfig['container']): (Template | ExpressionTemplate)[] {
  if (!container) return [];
  if ('condition' in container) return container.condition ? [container.condition] : [];
  if ('count' in container) return 'expression' in container.count ? [container.count.expression] : [];
  return 'template' in container.collection ? [container.collection.template] : [];
}

function findReads(config: BlockConfig): Reads {
  const references = templatesOf(config).flatMap((template) => referencesIn(template));
  const { container } = config;
  if (container && 'collection' in container && 'reference' in container.collection)
    references.push(container.collection.reference);
  const mayReadFiles = references.some(
    (reference) => 'path' in reference && reference.path.includes('base64'),
  );
  const sources = config.sources.filter((id) => !config.containers.includes(id));
  return { references, mayReadFiles, sources };
}
