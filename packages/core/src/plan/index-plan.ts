import { InvariantError } from '../errors.ts';
import type { Node, Region } from '../machine/skeleton.ts';
import type { Place } from '../record/entry.ts';
import type { Plan } from './plan.ts';

/** A node of the plan with its position. */
export interface IndexedNode {
  node: Node;
  /** The index of each container around the node in its region, outermost first, then the index of the node itself. */
  path: readonly number[];
  /** The containers around the node, outermost first. */
  containers: readonly Node[];
  /** The ids of `containers`. */
  containerIds: readonly string[];
  /** The ids of the parallels in `containers`. */
  parallelIds: readonly string[];
  /** Containers: the nodes of the body, by index. */
  body: readonly IndexedNode[];
  /** Top-level nodes: the block with an empty scope. Undefined for nodes in containers, which have many places. */
  place: Place | undefined;
}

/** Translates block ids into addresses and back. Each lookup takes O(depth). */
export interface PlanIndex {
  /**
   * Returns the node of a block; undefined if the block is not part of the control flow: disabled, or in a container
   * where no edge reaches it.
   */
  byId(blockId: string): IndexedNode | undefined;
  /**
   * Returns the address of the block in the frame (the run, an iteration or a branch) that `scope` identifies. Throws
   * InvariantError if the plan has no such place.
   */
  addressOf(blockId: string, scope: readonly number[]): number[];
  byAddress(address: readonly number[]): IndexedNode;
  /** Returns the block of an address, with the iteration and branch numbers around it. */
  placeOf(address: readonly number[]): Place;
  node(address: readonly number[]): Node;
  /**
   * Returns the index of a top-level node, or of the top-level container around an inner node; undefined for a block
   * outside the control flow.
   */
  topLevelIndex(blockId: string): number | undefined;
}

const cache = new WeakMap<Region, PlanIndex>();

/** Returns the plan's index, computed once in one pass over its skeleton. */
export function indexPlan({ skeleton }: Pick<Plan, 'skeleton'>): PlanIndex {
  let index = cache.get(skeleton);
  if (!index) cache.set(skeleton, (index = createIndex(skeleton)));
  return index;
}

function createIndex(skeleton: Region): PlanIndex {
  const nodes = new Map<string, IndexedNode>();
  const topLevelNodes = indexRegion(skeleton, undefined, nodes);
  const byAddress = (address: readonly number[]): IndexedNode => nodeAt(topLevelNodes, address);
  return {
    byId: (blockId) => nodes.get(blockId),
    addressOf: (blockId, scope) => {
      const indexedNode = nodes.get(blockId);
      if (!indexedNode) throw new InvariantError(`the plan has no block ${blockId}`);
      return addressIn(indexedNode, scope);
    },
    byAddress,
    placeOf: (address) => placeAt(byAddress(address), address),
    node: (address) => byAddress(address).node,
    topLevelIndex: (blockId) => nodes.get(blockId)?.path[0],
  };
}

function indexRegion(
  region: Region,
  container: IndexedNode | undefined,
  nodes: Map<string, IndexedNode>,
): IndexedNode[] {
  const containers = container ? [...container.containers, container.node] : [];
  const containerIds = containers.map(({ id }) => id);
  const parallelIds = containers.filter(({ kind }) => kind === 'parallel').map(({ id }) => id);
  return region.nodes.map((node, index) => {
    const path = container ? [...container.path, index] : [index];
    // Frozen, because all callers of placeOf share this object.
    const place = container
      ? undefined
      : Object.freeze({ block: node.id, scope: Object.freeze([]) as never[] });
    const indexedNode: IndexedNode = { node, path, containers, containerIds, parallelIds, body: [], place };
    nodes.set(node.id, indexedNode);
    if (node.subflow) indexedNode.body = indexRegion(node.subflow.body, indexedNode, nodes);
    return indexedNode;
  });
}

/**
 * Returns the address of `node` in the frame that `scope` identifies. Throws InvariantError for a scope of another
 * depth.
 */
export function addressIn({ node, path }: IndexedNode, scope: readonly number[]): number[] {
  if (scope.length !== path.length - 1) {
    throw new InvariantError(
      `block ${node.id} is ${path.length - 1} levels deep, but its place has ${scope.length} numbers`,
    );
  }
  const address = [path[0] as number];
  for (let depth = 0; depth < scope.length; depth++)
    address.push(scope[depth] as number, path[depth + 1] as number);
  return address;
}

/** Returns the place of `node` with the iteration and branch numbers of `address`. */
export function placeAt({ node, place }: IndexedNode, address: readonly number[]): Place {
  if (place) return place;
  const scope = [address[1] as number];
  for (let position = 3; position < address.length; position += 2) scope.push(address[position] as number);
  return { block: node.id, scope };
}

function nodeAt(topLevelNodes: readonly IndexedNode[], address: readonly number[]): IndexedNode {
  let indexedNode: IndexedNode | undefined;
  for (let position = 0; position < address.length; position += 2)
    indexedNode = (position === 0 ? topLevelNodes : indexedNode?.body)?.[address[position] as number];
  if (!indexedNode || address.length % 2 === 0)
    throw new InvariantError(`the plan has no node at address ${address.join('.')}`);
  return indexedNode;
}
