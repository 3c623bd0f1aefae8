import { normalizeName } from '@heddle/core/drafts';
import type { Json, JsonObject } from '@heddle/core';
import { childIdsByParent, objectOrEmpty, parentIdOf } from '../containers.ts';
import type { DraftGraph } from '../containers.ts';

/** A draft that is being edited. Indexes find the edges of a block, and whether a name is taken, without a scan. */
export class DraftEditor {
  readonly #blocks: Map<string, JsonObject>;
  readonly #edges = new Set<JsonObject>();
  readonly #outgoingEdges = new Map<string, Set<JsonObject>>();
  readonly #incomingEdges = new Map<string, Set<JsonObject>>();
  /** Number of blocks by normalized name. */
  readonly #nameCounts = new Map<string, number>();

  constructor(graph: Pick<DraftGraph, 'blocks' | 'edges'>) {
    this.#blocks = new Map(Object.entries(graph.blocks));
    for (const block of this.#blocks.values()) this.#countName(block, 1);
    for (const edge of graph.edges) this.connect(edge);
  }

  get blocks(): ReadonlyMap<string, JsonObject> {
    return this.#blocks;
  }

  get edgeCount(): number {
    return this.#edges.size;
  }

  find(id: string): JsonObject | undefined {
    return this.#blocks.get(id);
  }

  hasName(name: string): boolean {
    return (this.#nameCounts.get(normalizeName(name)) ?? 0) > 0;
  }

  /** Adds the block, or replaces the one with its id. */
  put(id: string, block: JsonObject): void {
    const previousBlock = this.#blocks.get(id);
    if (previousBlock) this.#countName(previousBlock, -1);
    this.#blocks.set(id, block);
    this.#countName(block, 1);
  }

  /** Removes the block and its edges. */
  remove(id: string): void {
    const block = this.#blocks.get(id);
    if (!block) return;
    this.#countName(block, -1);
    this.#blocks.delete(id);
    for (const edge of [...this.edgesFrom(id), ...this.edgesTo(id)]) this.disconnect(edge);
  }

  /** Returns the edges between two blocks. */
  edgesBetween(source: string, target: string): JsonObject[] {
    const [outgoingEdges, incomingEdges] = [this.edgesFrom(source), this.edgesTo(target)];
    return outgoingEdges.size < incomingEdges.size
      ? [...outgoingEdges].filter((edge) => edge['target'] === target)
      : [...incomingEdges].filter((edge) => edge['source'] === source);
  }

  edgesFrom(id: string): ReadonlySet<JsonObject> {
    return this.#outgoingEdges.get(id) ?? new Set();
  }

  edgesTo(id: string): ReadonlySet<JsonObject> {
    return this.#incomingEdges.get(id) ?? new Set();
  }

  connect(edge: JsonObject): void {
    this.#edges.add(edge);
    append(this.#outgoingEdges, stringOrDefault(edge['source']), edge);
    append(this.#incomingEdges, stringOrDefault(edge['target']), edge);
  }

  disconnect(edge: JsonObject): void {
    this.#edges.delete(edge);
    this.#outgoingEdges.get(stringOrDefault(edge['source']))?.delete(edge);
    this.#incomingEdges.get(stringOrDefault(edge['target']))?.delete(edge);
  }

  /** Returns the container of a block; undefined at the top level, and for a container that the draft does not have. */
  parentOf(id: string): string | undefined {
    const block = this.#blocks.get(id);
    const parent = block && parentIdOf(block);
    return parent !== undefined && this.#blocks.has(parent) ? parent : undefined;
  }

  /** Returns the enclosing containers of a block, innermost first. Stored drafts may have cycles. */
  ancestors(id: string): string[] {
    const ancestors = new Set<string>();
    let parent = this.parentOf(id);
    while (parent !== undefined && !ancestors.has(parent)) {
      ancestors.add(parent);
      parent = this.parentOf(parent);
    }
    return [...ancestors];
  }

  /** Returns the depths of all blocks inside a container, by block id. Its direct children have the depth 1. */
  depths(id: string): Map<string, number> {
    const children = childIdsByParent(this.#blocks);
    const depths = new Map<string, number>();
    const stack: [string, number][] = [[id, 0]];
    for (let nextEntry = stack.pop(); nextEntry; nextEntry = stack.pop()) {
      const [parent, depth] = nextEntry;
      for (const child of children.get(parent) ?? []) {
        if (child === id || depths.has(child)) continue;
        depths.set(child, depth + 1);
        stack.push([child, depth + 1]);
      }
    }
    return depths;
  }

  /**
   * Moves a block into a container, or to the top level. Removes and returns the edges of the block that would cross
   * the boundary of a container.
   */
  move(id: string, parent: string | undefined): JsonObject[] {
    const block = this.#blocks.get(id);
    if (!block) return [];
    const data = objectOrEmpty(block['data']);
    if (parent === undefined) {
      delete data['parentId'];
      delete data['extent'];
    } else Object.assign(data, { parentId: parent, extent: 'parent' });
    this.put(id, { ...block, data });
    const crossingEdges = [...this.edgesFrom(id), ...this.edgesTo(id)].filter(
      (edge) => !this.isInSameScope(edge),
    );
    for (const edge of crossingEdges) this.disconnect(edge);
    return crossingEdges;
  }

  /** Returns true if both ends of the edge are in the same container, or one end is the container of the other. */
  isInSameScope(edge: JsonObject): boolean {
    const [source, target] = [stringOrDefault(edge['source']), stringOrDefault(edge['target'])];
    const [sourceParent, targetParent] = [this.parentOf(source), this.parentOf(target)];
    return sourceParent === targetParent || targetParent === source || sourceParent === target;
  }

  toGraph(): Pick<DraftGraph, 'blocks' | 'edges'> {
    return { blocks: Object.fromEntries(this.#blocks), edges: [...this.#edges] };
  }

  #countName(block: JsonObject, delta: number): void {
    const name = normalizeName(stringOrDefault(block['name']));
    this.#nameCounts.set(name, (this.#nameCounts.get(name) ?? 0) + delta);
  }
}

export function stringOrDefault(value: Json | undefined, fallback = ''): string {
  return typeof value === 'string' ? value : fallback;
}

function append(index: Map<string, Set<JsonObject>>, key: string, edge: JsonObject): void {
  const edges = index.get(key);
  if (edges) edges.add(edge);
  else index.set(key, new Set([edge]));
}
