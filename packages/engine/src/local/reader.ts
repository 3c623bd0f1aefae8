import type { Json } from '@heddle/core';
import { isJsonObject, referencesIn } from '@heddle/core/blocks';
import type {
  BlockConfig,
  CodeTemplate,
  ExpressionTemplate,
  Lookup,
  Reference,
  Template,
} from '@heddle/core/blocks';
import { scopeFrom } from '@heddle/core/run';
import type { BranchScope, Output, Place, Replica, Stored } from '@heddle/core/run';
import { read } from './values.ts';
import type { Loaded, Values } from './values.ts';

const referencesOf = new WeakMap<BlockConfig, readonly Reference[]>();

/** What a block sees of its run, from where it stands. */
export class Reader implements Lookup {
  private readonly replica: Replica;
  private readonly place: Place;
  private readonly environment: { readonly [name: string]: string };
  private readonly loaded: Loaded = new Map();
  /** The turn that a loop's own condition asks for. */
  private readonly turn: number | undefined;

  constructor(
    replica: Replica,
    place: Place,
    environment: { readonly [name: string]: string },
    turn?: number,
  ) {
    this.replica = replica;
    this.place = place;
    this.environment = environment;
    this.turn = turn;
  }

  /** Fetches the large values that the block's fields refer to; undefined when there is nothing to wait for. */
  prepare(values: Values): Promise<void> | undefined {
    const config = this.replica.plan.blocks[this.place.block];
    if (!config) return undefined;
    const large = this.readable(config).filter((stored) => !('v' in stored));
    return large.length === 0 ? undefined : values.fetch(large, this.loaded);
  }

  private readable(config: BlockConfig): Stored[] {
    let references = referencesOf.get(config);
    if (!references) referencesOf.set(config, (references = allReferences(config)));
    const stored = references.flatMap((reference) => this.storedAt(reference) ?? []);
    const source = this.source();
    return source ? [...stored, source.output.value] : stored;
  }

  private storedAt(reference: Reference): Stored | undefined {
    if (reference.kind === 'container') return this.containerItems(reference.block);
    if (reference.kind !== 'block' && reference.kind !== 'results') return undefined;
    return this.outputAt(reference)?.value;
  }

  private outputAt(reference: { block: string; up: number; into: string[] }): Output | undefined {
    const scope = this.scope();
    return scope && scopeFrom(scope, reference.up, reference.into)?.outputs.get(reference.block);
  }

  private scope(): BranchScope | undefined {
    return this.replica.ledger.scopeAt(this.place);
  }

  block(reference: {
    block: string;
    up: number;
    into: string[];
  }): { ran: true; output: Json } | { ran: false } {
    const output = this.outputAt(reference);
    return output ? { ran: true, output: read(output.value, this.loaded) } : { ran: false };
  }

  results(reference: { block: string; up: number; into: string[] }): Json | undefined {
    const output = this.outputAt(reference);
    const value = output && read(output.value, this.loaded);
    return isJsonObject(value) ? value['results'] : undefined;
  }

  container(reference: { block: string }): { index: number; currentItem?: Json; items?: Json[] } | undefined {
    const index = this.indexIn(reference.block);
    if (index === undefined) return undefined;
    const stored = this.containerItems(reference.block);
    const items = stored && read(stored, this.loaded);
    if (!Array.isArray(items)) return { index };
    const currentItem = items[index];
    return currentItem === undefined ? { index, items } : { index, items, currentItem };
  }

  /** The reader's turn or branch in a container around it. */
  private indexIn(container: string): number | undefined {
    if (container === this.place.block) return this.turn;
    return this.place.scope[this.replica.ledger.containersOf(this.place.block).indexOf(container)];
  }

  private containerItems(container: string): Stored | undefined {
    const depth = this.replica.ledger.containersOf(container).length;
    const scope = this.replica.ledger.scopeAt({ block: container, scope: this.place.scope.slice(0, depth) });
    return (scope?.loops.get(container) ?? scope?.parallels.get(container))?.items;
  }

  variable(id: string): Json | undefined {
    return this.replica.ledger.variables.get(id);
  }

  env(name: string): string | undefined {
    return Object.hasOwn(this.environment, name) ? this.environment[name] : undefined;
  }

  describe(blockId: string): { name: string; type: string; outputs?: NonNullable<BlockConfig['outputs']> } {
    const config = this.replica.plan.blocks[blockId];
    const name = config?.name ?? blockId;
    const type = config?.type ?? 'unknown';
    return config?.outputs ? { name, type, outputs: config.outputs } : { name, type };
  }

  /** Id of the block that led here: of those with an edge into this one, the one that ended last. */
  liveSource(): string | undefined {
    return this.source()?.id;
  }

  private source(): { id: string; output: Output } | undefined {
    const outputs = this.scope()?.outputs;
    const config = this.replica.plan.blocks[this.place.block];
    let last: { id: string; output: Output } | undefined;
    for (const id of config?.sources ?? []) {
      // A container around the block leads into it, but has no output yet.
      if (config?.containers.includes(id)) continue;
      const output = outputs?.get(id);
      if (output && (!last || output.order > last.output.order)) last = { id, output };
    }
    return last;
  }
}

/** Everything compiled in a block's configuration that may refer to something. */
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

function allReferences(config: BlockConfig): Reference[] {
  const references = templatesOf(config).flatMap((part) => referencesIn(part));
  const { container } = config;
  if (container && 'collection' in container && 'reference' in container.collection)
    references.push(container.collection.reference);
  return references;
}
