import { diagnostic } from '../plan/diagnostics.ts';
import type { Diagnostic, DiagnosticSink } from '../plan/diagnostics.ts';
import { isContainerType } from '../schema/read-block.ts';
import type { Block, Workflow } from '../schema/workflow.ts';
import { storedParents } from './stored-parents.ts';

/** Maximum depth of nested containers. */
export const MAX_NESTING = 50;

/** A block and the containers around it. Notes are omitted, because they never run. */
export interface PlacedBlock {
  block: Block;
  /** Ids of the containers around the block, outermost first. */
  containers: readonly string[];
  /** False if the block, or one of its containers, is disabled. */
  enabled: boolean;
}

export type PlacedBlocks = ReadonlyMap<string, PlacedBlock>;

/**
 * Returns the position of every block, from the `parentId` of blocks, and from stored maps only for blocks without one.
 */
export function placeBlocks(workflow: Workflow, found: DiagnosticSink): PlacedBlocks {
  // Sorted by id, so that the result does not depend on the order of the file's keys.
  const sorted = workflow.blocks
    .filter(({ type }) => type !== 'note')
    .toSorted((a, b) => (a.id < b.id ? -1 : 1));
  const blocks = new Map(sorted.map((block) => [block.id, block]));
  const parents = namedParents(blocks, found);
  for (const [child, parent] of storedParents(workflow.stored, blocks, found)) parents.set(child, parent);
  const places = new Map<string, PlacedBlock>();
  for (const id of blocks.keys()) place(id, { blocks, parents, places, found });
  return places;
}

/** Returns the id of the innermost container around a block. */
export function parentOf(place: PlacedBlock): string | undefined {
  return place.containers.at(-1);
}

function namedParents(blocks: ReadonlyMap<string, Block>, found: DiagnosticSink): Map<string, string> {
  const parents = new Map<string, string>();
  for (const block of blocks.values()) {
    if (block.parentId === undefined) continue;
    const parent = blocks.get(block.parentId);
    if (parent && isContainerType(parent.type)) {
      parents.set(block.id, parent.id);
      continue;
    }
    found.push(
      diagnostic('PARENT_MISSING', {
        blockId: block.id,
        path: ['blocks', block.id, 'data', 'parentId'],
        message: `"${block.name}" names the container "${block.parentId}", which ${parent ? 'is not a container' : 'does not exist'}; it counts as top-level.`,
        hint: 'Set parentId to a loop or a parallel, or remove it.',
      }),
    );
  }
  return parents;
}

interface PlacingContext {
  blocks: ReadonlyMap<string, Block>;
  parents: ReadonlyMap<string, string>;
  places: Map<string, PlacedBlock>;
  found: DiagnosticSink;
}

/** Computes the positions of the block and of the containers around it, outermost first. */
function place(id: string, placing: PlacingContext): void {
  const { blocks, places, found } = placing;
  const { chain, outer } = unplacedChain(id, placing);
  let around = outer;
  for (const next of chain.toReversed()) {
    const block = blocks.get(next) as Block;
    if (around && around.containers.length >= MAX_NESTING) {
      found.push(tooDeep(block));
      around = undefined;
    }
    around = around ? inside(block, around) : { block, containers: [], enabled: block.enabled };
    places.set(next, around);
  }
}

/** Returns the block and the containers around it, innermost first, up to one whose position is already known. */
function unplacedChain(
  id: string,
  { blocks, parents, places, found }: PlacingContext,
): { chain: string[]; outer: PlacedBlock | undefined } {
  const chain = new Set<string>();
  let up: string | undefined = id;
  while (up !== undefined && !places.has(up) && !chain.has(up)) {
    chain.add(up);
    up = parents.get(up);
  }
  const ids = [...chain];
  if (up !== undefined && chain.has(up)) found.push(parentCycle(ids.slice(ids.indexOf(up)), blocks));
  return { chain: ids, outer: up === undefined ? undefined : places.get(up) };
}

function inside(block: Block, around: PlacedBlock): PlacedBlock {
  const containers = [...around.containers, around.block.id];
  return { block, containers, enabled: block.enabled && around.enabled };
}

function parentCycle(ids: readonly string[], blocks: ReadonlyMap<string, Block>): Diagnostic {
  const names = [...ids, ids[0] as string].map((id) => `"${blocks.get(id)?.name}"`);
  return diagnostic('PARENT_CYCLE', {
    blockId: ids[0] as string,
    path: ['blocks', ids[0] as string, 'data', 'parentId'],
    message: `Containers form a cycle: ${names.join(' in ')}.`,
    hint: 'Move one of them to the top level.',
  });
}

function tooDeep(block: Block): Diagnostic {
  return diagnostic('NESTING_TOO_DEEP', {
    blockId: block.id,
    path: ['blocks', block.id, 'data', 'parentId'],
    message: `"${block.name}" is nested more than ${MAX_NESTING} containers deep.`,
    hint: 'Move the inner containers into a separate workflow and run it as a child.',
  });
}
