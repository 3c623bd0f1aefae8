import { diagnostic } from '../plan/diagnostics.ts';
import type { Diagnostic, DiagnosticSink } from '../plan/diagnostics.ts';
import { isContainerType } from '../schema/read-block.ts';
import type { Block, Workflow } from '../schema/workflow.ts';
import { storedParents } from './stored-parents.ts';

/** Maximum depth of nested containers. */
export const MAX_NESTING = 50;

/** The place of a block: the containers around it. Notes have no place, because they never run. */
export interface ContainedBlock {
  block: Block;
  /** Ids of the containers around the block, outermost first. */
  containers: readonly string[];
  /** False if the block, or one of its containers, is disabled. */
  enabled: boolean;
}

export type ContainedBlocks = ReadonlyMap<string, ContainedBlock>;

/**
 * Returns the place of every block: from the block's `parentId`, or for a block without one from the stored maps
 * (`loops` and `parallels` of the file).
 */
export function resolveContainment(workflow: Workflow, sink: DiagnosticSink): ContainedBlocks {
  // Sorted by id, so that the result does not depend on the order of the file's keys.
  const sortedBlocks = workflow.blocks
    .filter(({ type }) => type !== 'note')
    .toSorted((a, b) => (a.id < b.id ? -1 : 1));
  const blocks = new Map(sortedBlocks.map((block) => [block.id, block]));
  const parents = readParents(blocks, sink);
  for (const [child, parent] of storedParents(workflow.stored, blocks, sink)) parents.set(child, parent);
  const places = new Map<string, ContainedBlock>();
  for (const id of blocks.keys()) computePlace(id, { blocks, parents, places, sink });
  return places;
}

/** Returns the id of the innermost container around a block. */
export function parentOf(place: ContainedBlock): string | undefined {
  return place.containers.at(-1);
}

function readParents(blocks: ReadonlyMap<string, Block>, sink: DiagnosticSink): Map<string, string> {
  const parents = new Map<string, string>();
  for (const block of blocks.values()) {
    if (block.parentId === undefined) continue;
    const parent = blocks.get(block.parentId);
    if (parent && isContainerType(parent.type)) {
      parents.set(block.id, parent.id);
      continue;
    }
    sink.push(
      diagnostic('PARENT_MISSING', {
        blockId: block.id,
        path: ['blocks', block.id, 'data', 'parentId'],
        message: `"${block.name}" names "${block.parentId}" as its container, but that ${parent ? 'is not a container' : 'does not exist'}. The block counts as top-level.`,
        hint: 'Set parentId to a loop or a parallel, or remove it.',
      }),
    );
  }
  return parents;
}

interface PlacingContext {
  blocks: ReadonlyMap<string, Block>;
  parents: ReadonlyMap<string, string>;
  places: Map<string, ContainedBlock>;
  sink: DiagnosticSink;
}

/** Computes the places of the block and of the containers around it, outermost first. */
function computePlace(id: string, context: PlacingContext): void {
  const { blocks, places, sink } = context;
  const { chain, outerPlace } = unplacedChain(id, context);
  let container = outerPlace;
  for (const blockId of chain.toReversed()) {
    const block = blocks.get(blockId) as Block;
    if (container && container.containers.length >= MAX_NESTING) {
      sink.push(nestingTooDeep(block));
      container = undefined;
    }
    container = container ? placeInside(block, container) : { block, containers: [], enabled: block.enabled };
    places.set(blockId, container);
  }
}

/**
 * Returns the block and the containers around it whose places are not known yet, innermost first (`chain`), and the
 * place of the next container, which is known (`outerPlace`).
 */
function unplacedChain(
  id: string,
  { blocks, parents, places, sink }: PlacingContext,
): { chain: string[]; outerPlace: ContainedBlock | undefined } {
  const chain = new Set<string>();
  let currentId: string | undefined = id;
  while (currentId !== undefined && !places.has(currentId) && !chain.has(currentId)) {
    chain.add(currentId);
    currentId = parents.get(currentId);
  }
  const ids = [...chain];
  if (currentId !== undefined && chain.has(currentId))
    sink.push(parentCycle(ids.slice(ids.indexOf(currentId)), blocks));
  return { chain: ids, outerPlace: currentId === undefined ? undefined : places.get(currentId) };
}

function placeInside(block: Block, container: ContainedBlock): ContainedBlock {
  const containers = [...container.containers, container.block.id];
  return { block, containers, enabled: block.enabled && container.enabled };
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

function nestingTooDeep(block: Block): Diagnostic {
  return diagnostic('NESTING_TOO_DEEP', {
    blockId: block.id,
    path: ['blocks', block.id, 'data', 'parentId'],
    message: `"${block.name}" is nested more than ${MAX_NESTING} containers deep.`,
    hint: 'Move the inner containers into a separate workflow and run it as a child.',
  });
}
