import { SKIPPED } from './state.ts';
import type { NodeState } from './state.ts';
import type { Region } from './skeleton.ts';

/** A region's edges, indexed so that a join needs one lookup per edge. */
export interface PreparedRegion {
  /** States of the nodes of a new frame: for each node, twice the number of its sources (see `NodeState`). */
  cells: readonly NodeState[];
  /** For each node its targets in edge order, each with the ports of the edges to it. */
  outgoingEdges: readonly (readonly OutgoingEdge[])[];
  /** By start node: the states of the nodes of a frame in which the run starts at that node. */
  nodeStatesByStart: Map<number, ReachableNodeStates>;
}

interface ReachableNodeStates {
  cells: readonly NodeState[];
  /** Number of nodes that can run. */
  left: number;
}

export interface OutgoingEdge {
  to: number;
  ports: readonly string[];
}

const cache = new WeakMap<Region, PreparedRegion>();

/** Returns the prepared form of a region, which is computed once per region. */
export function prepareRegion(region: Region): PreparedRegion {
  const cached = cache.get(region);
  if (cached) return cached;
  const ports = region.nodes.map(() => new Map<number, string[]>());
  region.nodes.forEach((node, to) => {
    for (const edge of node.ins) {
      const list = ports[edge.from]?.get(to);
      if (list) list.push(edge.port);
      else ports[edge.from]?.set(to, [edge.port]);
    }
  });
  const preparedRegion: PreparedRegion = {
    cells: region.nodes.map((node) => new Set(node.ins.map((edge) => edge.from)).size * 2),
    outgoingEdges: region.nodes.map((node, from) =>
      node.outs.map((to) => ({ to, ports: ports[from]?.get(to) ?? [] })),
    ),
    nodeStatesByStart: new Map(),
  };
  cache.set(region, preparedRegion);
  return preparedRegion;
}

/**
 * R1: returns the states of the nodes of a frame in which a run starts at `start`. Nodes that `start` does not reach
 * are skipped, and no join waits for them.
 */
export function nodeStatesFrom(region: Region, start: number): { cells: NodeState[]; left: number } {
  const { outgoingEdges, nodeStatesByStart } = prepareRegion(region);
  let reachableNodeStates = nodeStatesByStart.get(start);
  if (!reachableNodeStates)
    nodeStatesByStart.set(start, (reachableNodeStates = findReachableNodeStates(outgoingEdges, start)));
  return { cells: reachableNodeStates.cells.slice(), left: reachableNodeStates.left };
}

function findReachableNodeStates(
  outgoingEdges: PreparedRegion['outgoingEdges'],
  start: number,
): ReachableNodeStates {
  const reachedNodes = new Set([start]);
  for (const from of reachedNodes) for (const { to } of outgoingEdges[from] ?? []) reachedNodes.add(to);
  const cells: NodeState[] = outgoingEdges.map(() => SKIPPED);
  for (const from of reachedNodes)
    for (const { to } of outgoingEdges[from] ?? []) cells[to] = (cells[to] as number) + 2;
  return { cells, left: reachedNodes.size };
}
