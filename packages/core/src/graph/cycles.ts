import type { DirectedGraph } from 'graphology';
import { diagnostic } from '../plan/diagnostics.ts';
import type { Diagnostic } from '../plan/diagnostics.ts';
import type { ContainedBlocks } from './containment.ts';

/** Returns one diagnostic for each cycle of blocks. Cycles that share a block are reported as one. */
export function findCycles(graph: DirectedGraph, containedBlocks: ContainedBlocks): Diagnostic[] {
  return findDisjointCycles(graph).map((cycle) => {
    const names = [...cycle, cycle[0] as string].map((id) => `"${containedBlocks.get(id)?.block.name}"`);
    return diagnostic('CYCLE', {
      blockId: cycle[0] as string,
      path: ['blocks', cycle[0] as string],
      message: `The blocks ${shorten(names).join(' → ')} form a cycle.`,
      hint: 'Remove one of these edges. To repeat blocks, put them into a loop.',
    });
  });
}

/** A graph from which nodes are removed: the remaining nodes, and their degrees in the remaining graph. */
interface RemainingGraph {
  graph: DirectedGraph;
  nodes: Set<string>;
  inDegrees: Map<string, number>;
  outDegrees: Map<string, number>;
}

/**
 * Returns disjoint cycles, each beginning at its smallest id. Takes linear time: nodes are removed until only cycles
 * remain.
 */
function findDisjointCycles(graph: DirectedGraph): string[][] {
  const nodes = new Set(graph.nodes().toSorted());
  const computeDegrees = (degree: (id: string) => number): Map<string, number> =>
    new Map([...nodes].map((id) => [id, degree(id)]));
  const remainingGraph = {
    graph,
    nodes,
    inDegrees: computeDegrees((id) => graph.inDegree(id)),
    outDegrees: computeDegrees((id) => graph.outDegree(id)),
  };
  removeNodes(
    remainingGraph,
    [...nodes].filter(
      (id) => remainingGraph.inDegrees.get(id) === 0 || remainingGraph.outDegrees.get(id) === 0,
    ),
  );
  const cycles: string[][] = [];
  const sortedTargets = new Map<string, SortedTargets>();
  for (const first of nodes) removeCyclesFrom(remainingGraph, { first, sortedTargets, cycles });
  return cycles.toSorted(([a = ''], [b = '']) => (a < b ? -1 : 1));
}

/** Removes nodes, and then every node that has no remaining in-edges or out-edges, since it is not on a cycle. */
function removeNodes({ graph, nodes, inDegrees, outDegrees }: RemainingGraph, ids: readonly string[]): void {
  const queue = [...ids];
  const decrement = (degrees: Map<string, number>, id: string): void => {
    const degree = (degrees.get(id) ?? 0) - 1;
    degrees.set(id, degree);
    if (degree === 0 && nodes.has(id)) queue.push(id);
  };
  for (const id of queue) {
    if (!nodes.delete(id)) continue;
    for (const next of graph.outNeighbors(id)) decrement(inDegrees, next);
    for (const previous of graph.inNeighbors(id)) decrement(outDegrees, previous);
  }
}

/** The sorted targets of a node's edges, and the index of the first one that may still be in the graph. */
interface SortedTargets {
  targets: readonly string[];
  nextIndex: number;
}

/**
 * Follows the first remaining edge of each node, beginning at `first`, and removes every cycle that it reaches. After a
 * cycle, continues at the node before the cycle.
 */
function removeCyclesFrom(
  remainingGraph: RemainingGraph,
  {
    first,
    sortedTargets,
    cycles,
  }: { first: string; sortedTargets: Map<string, SortedTargets>; cycles: string[][] },
): void {
  const path = [first];
  const positions = new Map([[first, 0]]);
  for (let node = path.at(-1); node !== undefined; node = path.at(-1)) {
    const next = remainingGraph.nodes.has(node)
      ? firstTarget(remainingGraph, node, sortedTargets)
      : undefined;
    const cycleStart = next === undefined ? undefined : positions.get(next);
    if (next === undefined) {
      path.pop();
      positions.delete(node);
    } else if (cycleStart === undefined) {
      positions.set(next, path.length);
      path.push(next);
    } else {
      const cycle = path.slice(cycleStart);
      cycles.push(rotateToFirst(cycle));
      removeNodes(remainingGraph, cycle);
    }
  }
}

function firstTarget(
  { graph, nodes }: RemainingGraph,
  id: string,
  sortedTargets: Map<string, SortedTargets>,
): string | undefined {
  const nodeTargets = sortedTargets.get(id) ?? { targets: graph.outNeighbors(id).toSorted(), nextIndex: 0 };
  sortedTargets.set(id, nodeTargets);
  while (
    nodeTargets.nextIndex < nodeTargets.targets.length &&
    !nodes.has(nodeTargets.targets[nodeTargets.nextIndex] as string)
  )
    nodeTargets.nextIndex++;
  return nodeTargets.targets[nodeTargets.nextIndex];
}

function rotateToFirst(cycle: readonly string[]): string[] {
  const first = cycle.reduce((smallest, id) => (id < smallest ? id : smallest));
  const index = cycle.indexOf(first);
  return [...cycle.slice(index), ...cycle.slice(0, index)];
}

/** Returns the names of the blocks in a cycle; if it is long, only the first and the last. */
function shorten(names: readonly string[]): string[] {
  return names.length <= 12
    ? [...names]
    : [...names.slice(0, 8), `… ${names.length - 11} more …`, ...names.slice(-3)];
}
