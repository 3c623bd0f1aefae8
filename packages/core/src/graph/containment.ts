import { diagnostic } from '../plan/codes.ts';
import type { Diagnostic } from '../plan/diagnostic.ts';
import { isContainerType } from '../schema/read-block.ts';
import type { Block, Workflow } from '../schema/workflow.ts';
import { storedParents } from './stored-parents.ts';

/** Containers deeper than this inside each other are refused. */
export const MAX_NESTING = 50;

/** A block with where it stands. Notes have no place: they never take part. */
export interface Place {
  block: Block;
  /** Ids of the containers around it, outermost first. */
  containers: readonly string[];
  /** False: it is disabled, or one of its containers is. */
  enabled: boolean;
}

export type Places = ReadonlyMap<string, Place>;

/** Where every block stands, from the `parentId` of blocks; stored maps only where no block says it. */
export function placeBlocks(workflow: Workflow, found: Diagnostic[]): Places {
  const blocks = new Map(workflow.blocks.filter(({ type }) => type !== 'note').map((block) => [block.id, block]));
  const parents = namedParents(blocks, found);
  for (const [child, parent] of storedParents(workflow.stored, blocks, found)) parents.set(child, parent);
  const places = new Map<string, Place>();
  for (const id of [...blocks.keys()].toSorted()) place(id, { blocks, parents, places, found });
  return places;
}

/** Id of the container directly around a placed block. */
export function parentOf(place: Place): string | undefined {
  return place.containers.at(-1);
}

function namedParents(blocks: ReadonlyMap<string, Block>, found: Diagnostic[]): Map<string, string> {
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
        message: `"${block.name}" says it stands in "${block.parentId}", which is ${parent ? 'no container' : 'not there'}; it counts as top-level.`,
        hint: 'Name a loop or a parallel, or remove parentId.',
      }),
    );
  }
  return parents;
}

interface Placing {
  blocks: ReadonlyMap<string, Block>;
  parents: ReadonlyMap<string, string>;
  places: Map<string, Place>;
  found: Diagnostic[];
}

/** Places the block and everything around it, outermost first. */
function place(id: string, placing: Placing): void {
  const { blocks, parents, places, found } = placing;
  const chain: string[] = [];
  const seen = new Set<string>();
  let up: string | undefined = id;
  while (up !== undefined && !places.has(up) && !seen.has(up)) {
    chain.push(up);
    seen.add(up);
    up = parents.get(up);
  }
  if (up !== undefined && seen.has(up)) {
    found.push(parentCycle(chain.slice(chain.indexOf(up)), blocks));
    up = undefined;
  }
  let around = up === undefined ? undefined : places.get(up);
  for (const next of chain.toReversed()) {
    const block = blocks.get(next) as Block;
    if (around && around.containers.length >= MAX_NESTING) {
      found.push(tooDeep(block));
      around = undefined;
    }
    around = {
      block,
      containers: around ? [...around.containers, around.block.id] : [],
      enabled: block.enabled && (around?.enabled ?? true),
    };
    places.set(next, around);
  }
}

function parentCycle(ids: readonly string[], blocks: ReadonlyMap<string, Block>): Diagnostic {
  const names = [...ids, ids[0] as string].map((id) => `"${blocks.get(id)?.name}"`);
  return diagnostic('PARENT_CYCLE', {
    blockId: ids[0] as string,
    path: ['blocks', ids[0] as string, 'data', 'parentId'],
    message: `Containers stand inside each other in a circle: ${names.join(' in ')}.`,
    hint: 'Move one of them to the top level.',
  });
}

function tooDeep(block: Block): Diagnostic {
  return diagnostic('NESTING_TOO_DEEP', {
    blockId: block.id,
    path: ['blocks', block.id, 'data', 'parentId'],
    message: `"${block.name}" stands more than ${MAX_NESTING} containers deep.`,
    hint: 'Move the inner containers into a workflow of their own and run it as a child.',
  });
}
