import { InvariantError } from '../errors.ts';
import type { Node, Region } from '../machine/skeleton.ts';
import type { Place } from '../record/entry.ts';
import type { Plan } from './plan.ts';

/** Where a block stands in its plan. */
export interface IndexedNode {
  node: Node;
  /** Dense indexes on the way down: containers, then the block itself. */
  path: readonly number[];
  /** The containers around the block, outermost first. */
  containers: readonly Node[];
  /** Their ids. */
  containerIds: readonly string[];
  /** Ids of the parallels among them. */
  parallelIds: readonly string[];
  /** Of a container: where the nodes of its body stand, by index. */
  body: readonly IndexedNode[];
  /** Top level: the only place of the block. */
  place: Place | undefined;
}

/** What turns block ids into addresses and back; every look is O(depth) of the containers around the block. */
export interface PlanIndex {
  /** Where the block stands; undefined when it takes no part in the control flow: disabled, or in a container where no edge reaches it. */
  byId(blockId: string): IndexedNode | undefined;
  /** The address of the block in the frame that `scope` names. Throws InvariantError when the plan has no such place. */
  addressOf(blockId: string, scope: readonly number[]): number[];
  byAddress(address: readonly number[]): IndexedNode;
  /** The block and the turn and branch numbers that an address names. */
  placeOf(address: readonly number[]): Place;
  node(address: readonly number[]): Node;
  /** Index of a top-level node, or of the top-level container around an inner one; undefined for a block that stands nowhere. */
  topIndex(blockId: string): number | undefined;
}

const known = new WeakMap<Region, PlanIndex>();

/** The plan's index, made once, in one pass over its skeleton. */
export function indexPlan({ skeleton }: Pick<Plan, 'skeleton'>): PlanIndex {
  let index = known.get(skeleton);
  if (!index) known.set(skeleton, (index = makeIndex(skeleton)));
  return index;
}

function makeIndex(skeleton: Region): PlanIndex {
  const nodes = new Map<string, IndexedNode>();
  const top = indexRegion(skeleton, undefined, nodes);
  const byAddress = (address: readonly number[]): IndexedNode => find(top, address);
  return {
    byId: (blockId) => nodes.get(blockId),
    addressOf: (blockId, scope) => {
      const spot = nodes.get(blockId);
      if (!spot) throw new InvariantError(`the plan has no block ${blockId}`);
      return addressIn(spot, scope);
    },
    byAddress,
    placeOf: (address) => placeAt(byAddress(address), address),
    node: (address) => byAddress(address).node,
    topIndex: (blockId) => nodes.get(blockId)?.path[0],
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
    // Shared by all that is said of the block: nobody may change it.
    const place = container
      ? undefined
      : Object.freeze({ block: node.id, scope: Object.freeze([]) as never[] });
    const spot: IndexedNode = { node, path, containers, containerIds, parallelIds, body: [], place };
    nodes.set(node.id, spot);
    if (node.subflow) spot.body = indexRegion(node.subflow.body, spot, nodes);
    return spot;
  });
}

/** The address of the block at `spot` in the frame that `scope` names. Throws InvariantError for a scope of another depth. */
export function addressIn({ node, path }: IndexedNode, scope: readonly number[]): number[] {
  if (scope.length !== path.length - 1) {
    throw new InvariantError(
      `block ${node.id} stands ${path.length - 1} deep, its place names ${scope.length} turns`,
    );
  }
  const address = [path[0] as number];
  for (let depth = 0; depth < scope.length; depth++)
    address.push(scope[depth] as number, path[depth + 1] as number);
  return address;
}

/** The block at `spot`, with the turn and branch numbers of `address`. */
export function placeAt({ node, place }: IndexedNode, address: readonly number[]): Place {
  if (place) return place;
  const scope = [address[1] as number];
  for (let position = 3; position < address.length; position += 2) scope.push(address[position] as number);
  return { block: node.id, scope };
}

function find(top: readonly IndexedNode[], address: readonly number[]): IndexedNode {
  let spot: IndexedNode | undefined;
  for (let position = 0; position < address.length; position += 2)
    spot = (position === 0 ? top : spot?.body)?.[address[position] as number];
  if (!spot || address.length % 2 === 0)
    throw new InvariantError(`the plan has no node at address ${address.join('.')}`);
  return spot;
}
