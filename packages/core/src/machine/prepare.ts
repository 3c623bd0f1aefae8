import { SKIPPED } from './state.ts';
import type { Cell } from './state.ts';
import type { Region } from './skeleton.ts';

/** A region's edges, indexed so that a join needs one lookup per edge. */
export interface PreparedRegion {
  /** Cells of a new frame: for each node, twice the number of its sources (see `Cell`). */
  cells: readonly Cell[];
  /** For each node its targets in edge order, each with the ports of the edges to it. */
  outgoingEdges: readonly (readonly OutgoingEdge[])[];
  /** By start node: the cells of a frame in which the run starts at that node. */
  cellsByStart: Map<number, ReachableCells>;
}

interface ReachableCells {
  cells: readonly Cell[];
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
    cellsByStart: new Map(),
  };
  cache.set(region, preparedRegion);
  return preparedRegion;
}

/**
 * R1: returns the cells of a frame in which a run starts at `start`. Nodes that `start` does not reach are skipped, and
 * no join waits for them.
 */
export function cellsFrom(region: Region, start: number): { cells: Cell[]; left: number } {
  const { outgoingEdges, cellsByStart } = prepareRegion(region);
  let reachableCells = cellsByStart.get(start);
  if (!reachableCells) cellsByStart.set(start, (reachableCells = findReachableCells(outgoingEdges, start)));
  return { cells: reachableCells.cells.slice(), left: reachableCells.left };
}

function findReachableCells(outgoingEdges: PreparedRegion['outgoingEdges'], start: number): ReachableCells {
  const reachedNodes = new Set([start]);
  for (const from of reachedNodes) for (const { to } of outgoingEdges[from] ?? []) reachedNodes.add(to);
  const cells: Cell[] = outgoingEdges.map(() => SKIPPED);
  for (const from of reachedNodes)
    for (const { to } of outgoingEdges[from] ?? []) cells[to] = (cells[to] as number) + 2;
  return { cells, left: reachedNodes.size };
}
