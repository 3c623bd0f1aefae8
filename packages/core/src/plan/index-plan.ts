import { InvariantError } from '../errors.ts';
import type { Node, Region } from '../machine/skeleton.ts';
import type { Plan } from './plan.ts';

/** A block with the turn and branch numbers around it, outermost first. */
export interface BlockPlace {
  block: string;
  scope: number[];
}

/** What turns block ids into addresses and back; every look is O(depth) of the containers around the block. */
export interface PlanIndex {
  /** True when the block is part of the control flow: enabled, and reached by an edge when it stands in a container. */
  has(blockId: string): boolean;
  /** The address of the block in the frame that `scope` names. Throws InvariantError when the plan has no such place. */
  addressOf(blockId: string, scope: readonly number[]): number[];
  /** The block and the turn and branch numbers that an address names. */
  placeOf(address: readonly number[]): BlockPlace;
  node(address: readonly number[]): Node;
  /** Ids of the containers around the block, outermost first. */
  containersAround(blockId: string): readonly string[];
  /** Ids of the parallels around the block, outermost first. */
  parallelsAround(blockId: string): readonly string[];
  /** Index of a top-level node, or of the top-level container around an inner one; undefined for a block that `has` does not know. */
  topIndex(blockId: string): number | undefined;
}

interface Spot {
  /** Dense indexes on the way down: containers, then the block itself. */
  path: readonly number[];
  containers: readonly string[];
  parallels: readonly string[];
}

/** The plan's index, made in one pass over its skeleton. */
export function indexPlan(plan: Pick<Plan, 'skeleton'>): PlanIndex {
  const spots = new Map<string, Spot>();
  collect(plan.skeleton, { path: [], containers: [], parallels: [] }, spots);
  const spotOf = (blockId: string): Spot => {
    const spot = spots.get(blockId);
    if (!spot) throw new InvariantError(`the plan has no block ${blockId}`);
    return spot;
  };
  return {
    has: (blockId) => spots.has(blockId),
    addressOf: (blockId, scope) => weave(blockId, spotOf(blockId).path, scope),
    placeOf: (address) => ({
      block: nodeAt(plan.skeleton, address).id,
      scope: address.filter((_, position) => position % 2 === 1),
    }),
    node: (address) => nodeAt(plan.skeleton, address),
    containersAround: (blockId) => spotOf(blockId).containers,
    parallelsAround: (blockId) => spotOf(blockId).parallels,
    topIndex: (blockId) => spots.get(blockId)?.path[0],
  };
}

function collect(region: Region, around: Spot, spots: Map<string, Spot>): void {
  region.nodes.forEach((node, index) => {
    const spot = { ...around, path: [...around.path, index] };
    spots.set(node.id, spot);
    if (!node.subflow) return;
    collect(
      node.subflow.body,
      {
        path: spot.path,
        containers: [...around.containers, node.id],
        parallels: node.kind === 'parallel' ? [...around.parallels, node.id] : around.parallels,
      },
      spots,
    );
  });
}

function weave(blockId: string, path: readonly number[], scope: readonly number[]): number[] {
  if (scope.length !== path.length - 1) {
    throw new InvariantError(
      `block ${blockId} stands ${path.length - 1} deep, its place names ${scope.length} turns`,
    );
  }
  return path.flatMap((node, depth) => (depth === 0 ? [node] : [scope[depth - 1] as number, node]));
}

function nodeAt(skeleton: Region, address: readonly number[]): Node {
  let region: Region | undefined = skeleton;
  let node: Node | undefined;
  for (let position = 0; position < address.length; position += 2) {
    node = region?.nodes[address[position] as number];
    region = node?.subflow?.body;
  }
  if (!node || address.length % 2 === 0) {
    throw new InvariantError(`the plan has no node at address ${address.join('.')}`);
  }
  return node;
}
