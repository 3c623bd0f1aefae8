import { DirectedGraph } from 'graphology';
import type { DiagnosticSink } from '../plan/diagnostics.ts';
import { isContainerType } from '../schema/read-block.ts';
import type { Workflow } from '../schema/workflow.ts';
import { parentOf, resolveContainment } from './containment.ts';
import type { ContainedBlock, ContainedBlocks } from './containment.ts';
import { findCycles } from './cycles.ts';
import { append } from './multimap.ts';
import type { Multimap } from './multimap.ts';
import { topologicalOrder } from './order.ts';
import { classifyEdges } from './classify-edges.ts';
import type { RegionEdge } from './classify-edges.ts';

/** The blocks of the top level, or of one container's body. */
export interface RegionGraph {
  /** Number of blocks; greater than the length of `order` if there is a cycle. */
  size: number;
  /** Ids in topological order, ties by id. Incomplete if there is a cycle. */
  order: string[];
  /** Blocks without in-edges, in start order: order of the container's edges, then topological. */
  entries: string[];
}

/** A workflow's control flow: the blocks that can run, their containers, and the edges between them. */
export interface Structure {
  containedBlocks: ContainedBlocks;
  /** Blocks that can run: enabled, and inside a container also reached by an edge. */
  runnableIds: ReadonlySet<string>;
  /** By container id, with '' for the top level. Only containers that can run. */
  regions: ReadonlyMap<string, RegionGraph>;
  /** The edges into and out of each block, by id, in edge order. */
  incomingEdges: ReadonlyMap<string, readonly RegionEdge[]>;
  outgoingEdges: ReadonlyMap<string, readonly RegionEdge[]>;
}

export interface StructureOptions {
  /** True: an edge to an unknown block is a warning instead of an error. */
  compat: boolean;
  /** Ports that registered executors declare, by block type. */
  ports: ReadonlyMap<string, readonly string[]>;
}

/**
 * Returns the workflow's structure and reports the problems of its edges and containers. Takes time linear in blocks
 * and edges, except for the heap that keeps the topological order deterministic.
 */
export function buildStructure(
  workflow: Workflow,
  options: StructureOptions,
  sink: DiagnosticSink,
): Structure {
  const containedBlocks = resolveContainment(workflow, sink);
  const noteIds = new Set(workflow.blocks.filter(({ type }) => type === 'note').map(({ id }) => id));
  const classifiedEdges = classifyEdges(workflow.edges, containedBlocks, { ...options, noteIds }, sink);
  const runnableIds = findRunnableIds(containedBlocks, classifiedEdges.enabledTargets);
  const regionEdges = classifiedEdges.regionEdges.filter(
    ({ source, target }) => runnableIds.has(source) && runnableIds.has(target),
  );
  const structure = { containedBlocks, runnableIds, ...indexEdges(regionEdges) };
  const regions = buildRegions(structure, classifiedEdges.starts);
  // A complete order proves that there is no cycle. Most graphs have a complete order.
  if ([...regions.values()].some(({ size, order }) => order.length < size))
    for (const cycle of findCycles(graphOf(runnableIds, regionEdges), containedBlocks)) sink.push(cycle);
  return { ...structure, regions };
}

function graphOf(runnableIds: ReadonlySet<string>, regionEdges: readonly RegionEdge[]): DirectedGraph {
  const graph = new DirectedGraph();
  for (const id of runnableIds) graph.addNode(id);
  for (const { source, target } of regionEdges) graph.mergeEdge(source, target);
  return graph;
}

function buildRegions(
  { containedBlocks, runnableIds, incomingEdges, outgoingEdges }: Omit<Structure, 'regions'>,
  starts: ReadonlyMap<string, readonly string[]>,
): Map<string, RegionGraph> {
  const idsByContainer: Multimap<string> = new Map();
  for (const id of runnableIds)
    append(idsByContainer, parentOf(containedBlocks.get(id) as ContainedBlock) ?? '', id);
  const containers = [...runnableIds].filter((id) =>
    isContainerType((containedBlocks.get(id) as ContainedBlock).block.type),
  );
  const regions = new Map<string, RegionGraph>();
  for (const container of ['', ...containers]) {
    const ids = idsByContainer.get(container) ?? [];
    const order = topologicalOrder(ids, outgoingEdges);
    const sources = new Set(order.filter((id) => !incomingEdges.has(id)));
    const startTargets = (starts.get(container) ?? []).filter((id) => sources.has(id));
    const entries = [...new Set([...startTargets, ...sources])];
    regions.set(container, { size: ids.length, order, entries });
  }
  return regions;
}

/** Returns the enabled top-level blocks, and every enabled inner block that a path of edges reaches. */
function findRunnableIds(
  containedBlocks: ContainedBlocks,
  enabledTargets: ReadonlyMap<string, readonly string[]>,
): Set<string> {
  const reachedIds = new Set<string>();
  for (const [id, containedBlock] of containedBlocks)
    if (containedBlock.enabled && containedBlock.containers.length === 0) reachedIds.add(id);
  for (const id of reachedIds) for (const target of enabledTargets.get(id) ?? []) reachedIds.add(target);
  // A block inside a container that cannot run cannot run either.
  return new Set(
    [...reachedIds].filter((id) =>
      containedBlocks.get(id)?.containers.every((container) => reachedIds.has(container)),
    ),
  );
}

function indexEdges(regionEdges: readonly RegionEdge[]): Pick<Structure, 'incomingEdges' | 'outgoingEdges'> {
  const incomingEdges: Multimap<RegionEdge> = new Map();
  const outgoingEdges: Multimap<RegionEdge> = new Map();
  for (const edge of regionEdges) {
    append(incomingEdges, edge.target, edge);
    append(outgoingEdges, edge.source, edge);
  }
  return { incomingEdges, outgoingEdges };
}
