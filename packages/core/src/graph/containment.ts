import { diagnostic } from '../plan/diagnostics.ts';
import type { Diagnostic, DiagnosticSink } from '../plan/diagnostics.ts';
import { isContainerType } from '../schema/read-block.ts';
import type { Block, Workflow } from '../schema/workflow.ts';
import { findStoredParents } from './stored-parents.ts';

/** Maximum depth of nested containers. */
export const MAX_NESTING = 50;

/** A block with the containers around it. Notes are omitted, because they never run. */
export interface ContainedBlock {
  block: Block;
  /** Ids of the containers around the block, outermost first. */
  containers: readonly string[];
  /** False if the block, or one of its containers, is disabled. */
  enabled: boolean;
}

export type ContainedBlocks = ReadonlyMap<string, ContainedBlock>;

/**
 * Returns every block with the containers around it. The container of a block comes from its `parentId`, or without one
 * from the stored maps (`loops` and `parallels` of the file).
 */
export function resolveContainment(workflow: Workflow, sink: DiagnosticSink): ContainedBlocks {
  // Sorted by id, so that the result does not depend on the order of the file's keys.
  const sortedBlocks = workflow.blocks
    .filter(({ type }) => type !== 'note')
    .toSorted((a, b) => (a.id < b.id ? -1 : 1));
  const blocks = new Map(sortedBlocks.map((block) => [block.id, block]));
  const parents = readParents(blocks, sink);
  for (const [child, parent] of findStoredParents(workflow.storedContainers, blocks, sink))
    parents.set(child, parent);
  const containedBlocks = new Map<string, ContainedBlock>();
  for (const id of blocks.keys()) addContainedBlocks(id, { blocks, parents, containedBlocks, sink });
  return containedBlocks;
}

/** Returns the id of the innermost container around a block. */
export function parentOf(containedBlock: ContainedBlock): string | undefined {
  return containedBlock.containers.at(-1);
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

interface ContainmentContext {
  blocks: ReadonlyMap<string, Block>;
  parents: ReadonlyMap<string, string>;
  containedBlocks: Map<string, ContainedBlock>;
  sink: DiagnosticSink;
}

/** Adds the block and the containers around it to `containedBlocks`, outermost first. */
function addContainedBlocks(id: string, context: ContainmentContext): void {
  const { blocks, containedBlocks, sink } = context;
  const { chain, outerContainer } = unresolvedChain(id, context);
  let container = outerContainer;
  for (const blockId of chain.toReversed()) {
    const block = blocks.get(blockId) as Block;
    if (container && container.containers.length >= MAX_NESTING) {
      sink.push(nestingTooDeepDiagnostic(block));
      container = undefined;
    }
    container = container
      ? containedBlockIn(block, container)
      : { block, containers: [], enabled: block.enabled };
    containedBlocks.set(blockId, container);
  }
}

/**
 * Returns the ids of the block and the containers around it that are not in `containedBlocks` yet, innermost first
 * (`chain`), and the next container, which is in `containedBlocks` (`outerContainer`).
 */
function unresolvedChain(
  id: string,
  { blocks, parents, containedBlocks, sink }: ContainmentContext,
): { chain: string[]; outerContainer: ContainedBlock | undefined } {
  const chain = new Set<string>();
  let currentId: string | undefined = id;
  while (currentId !== undefined && !containedBlocks.has(currentId) && !chain.has(currentId)) {
    chain.add(currentId);
    currentId = parents.get(currentId);
  }
  const ids = [...chain];
  if (currentId !== undefined && chain.has(currentId))
    sink.push(parentCycleDiagnostic(ids.slice(ids.indexOf(currentId)), blocks));
  return { chain: ids, outerContainer: currentId === undefined ? undefined : containedBlocks.get(currentId) };
}

function containedBlockIn(block: Block, container: ContainedBlock): ContainedBlock {
  const containers = [...container.containers, container.block.id];
  return { block, containers, enabled: block.enabled && container.enabled };
}

function parentCycleDiagnostic(ids: readonly string[], blocks: ReadonlyMap<string, Block>): Diagnostic {
  const names = [...ids, ids[0] as string].map((id) => `"${blocks.get(id)?.name}"`);
  return diagnostic('PARENT_CYCLE', {
    blockId: ids[0] as string,
    path: ['blocks', ids[0] as string, 'data', 'parentId'],
    message: `Containers form a cycle: ${names.join(' in ')}.`,
    hint: 'Move one of them to the top level.',
  });
}

function nestingTooDeepDiagnostic(block: Block): Diagnostic {
  return diagnostic('NESTING_TOO_DEEP', {
    blockId: block.id,
    path: ['blocks', block.id, 'data', 'parentId'],
    message: `"${block.name}" is nested more than ${MAX_NESTING} containers deep.`,
    hint: 'Move the inner containers into a separate workflow and run it as a child.',
  });
}
