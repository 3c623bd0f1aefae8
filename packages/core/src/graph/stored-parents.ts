import { diagnostic } from '../plan/diagnostics.ts';
import type { Diagnostic, DiagnosticSink } from '../plan/diagnostics.ts';
import type { Block, StoredContainer } from '../schema/workflow.ts';
import { append } from './multimap.ts';
import type { Multimap } from './multimap.ts';

type Blocks = ReadonlyMap<string, Block>;

/**
 * Returns the container of each block without a `parentId`, by block id, from the stored maps: `loops` and `parallels`
 * of the file. Does not use a stored container that any block names in its `parentId`.
 *
 * If two stored containers list a block, the block belongs to the inner one. Reports the differences between a map and
 * the blocks.
 */
export function findStoredParents(
  storedContainers: readonly StoredContainer[],
  blocks: Blocks,
  sink: DiagnosticSink,
): Map<string, string> {
  const childrenByParent: Multimap<string> = new Map();
  for (const { id, parentId } of blocks.values())
    if (parentId !== undefined) append(childrenByParent, parentId, id);
  const parents = new Map<string, string>();
  let nesting: Nesting | undefined;
  const listedIds = new Map(storedContainers.map(({ id, nodes }) => [id, new Set(nodes)]));
  for (const entry of storedContainers) {
    const block = blocks.get(entry.id);
    const children = childrenByParent.get(entry.id);
    if (block?.type !== entry.kind) {
      if (entry.nodes.some((id) => blocks.has(id))) sink.push(mapWithoutBlockDiagnostic(entry));
    } else if (children) {
      nesting ??= new Nesting(blocks, childrenByParent);
      const differences = findDifferences(entry, children, { blocks, nesting });
      if (differences.length > 0) sink.push(mapDiffersDiagnostic(entry, block, differences));
    } else if (assignListedBlocks(entry, { blocks, parents, listedIds }))
      sink.push(mapUsedDiagnostic(entry, block));
  }
  return parents;
}

/** Returns the ids that are in the container only according to the map, or only according to the blocks. */
function findDifferences(
  entry: StoredContainer,
  children: readonly string[],
  { blocks, nesting }: { blocks: Blocks; nesting: Nesting },
): string[] {
  const mapIds = new Set(entry.nodes);
  const childIds = new Set(children);
  const extraIds = entry.nodes.filter(
    (id) => blocks.has(id) && !childIds.has(id) && !nesting.isInside(id, entry.id),
  );
  return [...extraIds, ...children.filter((id) => !mapIds.has(id))];
}

interface AssignContext {
  blocks: Blocks;
  parents: Map<string, string>;
  listedIds: ReadonlyMap<string, ReadonlySet<string>>;
}

/** Puts the listed blocks without a `parentId` into the container. Returns true if there are such blocks. */
function assignListedBlocks(entry: StoredContainer, { blocks, parents, listedIds }: AssignContext): boolean {
  let hasAssigned = false;
  for (const id of entry.nodes) {
    const block = blocks.get(id);
    if (!block || block.parentId !== undefined || id === entry.id) continue;
    hasAssigned = true;
    const otherContainer = parents.get(id);
    // If two containers list the block, the outer one also lists the inner one.
    if (otherContainer === undefined || listedIds.get(otherContainer)?.has(entry.id))
      parents.set(id, entry.id);
  }
  return hasAssigned;
}

/**
 * Decides if a block is inside a container at any depth, because older maps list nested children in all their
 * containers. One walk over the tree numbers the blocks, so each query takes constant time.
 */
class Nesting {
  readonly #enterPositions = new Map<string, number>();
  readonly #exitPositions = new Map<string, number>();

  /**
   * `children`: the blocks that name each container. Blocks in a cycle of containers count as being in no container.
   */
  constructor(blocks: Blocks, children: Multimap<string>) {
    const stack: { id: string; iterator: Iterator<string> }[] = [];
    const enter = (id: string): void => {
      this.#enterPositions.set(id, this.#enterPositions.size);
      stack.push({ id, iterator: (children.get(id) ?? []).values() });
    };
    for (const { id, parentId } of blocks.values()) {
      if (parentId === undefined || !blocks.has(parentId)) enter(id);
      for (let top = stack.at(-1); top; top = stack.at(-1)) {
        const { done, value } = top.iterator.next();
        if (done !== true) enter(value);
        else this.#exitPositions.set((stack.pop() ?? top).id, this.#enterPositions.size);
      }
    }
  }

  isInside(id: string, container: string): boolean {
    const position = this.#enterPositions.get(id) ?? -1;
    const containerPosition = this.#enterPositions.get(container);
    return (
      containerPosition !== undefined &&
      position > containerPosition &&
      position < (this.#exitPositions.get(container) ?? 0)
    );
  }
}

const pathOf = ({ kind, id }: StoredContainer): string[] => [kind === 'loop' ? 'loops' : 'parallels', id];

function mapWithoutBlockDiagnostic(entry: StoredContainer): Diagnostic {
  return diagnostic('CONTAINER_MAP_DIFFERS', {
    path: pathOf(entry),
    message: `The stored map has a ${entry.kind} "${entry.id}", but no ${entry.kind} block has this id. The entry is ignored.`,
    hint: 'Remove the entry, or add the block.',
  });
}

function mapDiffersDiagnostic(entry: StoredContainer, block: Block, ids: readonly string[]): Diagnostic {
  return diagnostic('CONTAINER_MAP_DIFFERS', {
    blockId: block.id,
    path: [...pathOf(entry), 'nodes'],
    message: `The stored map and the blocks differ in the content of "${block.name}": ${ids.join(', ')}. The blocks are used.`,
    hint: 'Remove the stored map: it is derived from the blocks.',
  });
}

function mapUsedDiagnostic(entry: StoredContainer, block: Block): Diagnostic {
  return diagnostic('CONTAINER_MAP_USED', {
    blockId: block.id,
    path: [...pathOf(entry), 'nodes'],
    message: `No block names "${block.name}" as its container, so the stored map is used.`,
    hint: 'Set parentId on the blocks inside.',
  });
}
