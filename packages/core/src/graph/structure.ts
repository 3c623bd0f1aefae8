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
import { wireEdges } from './wiring.ts';
import type { Wire } from './wiring.ts';

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
  places: ContainedBlocks;
  /** Blocks that can run: enabled, and inside a container also reached by an edge. */
  members: ReadonlySet<string>;
  /** By container id, with '' for the top level. Only containers that can run. */
  regions: ReadonlyMap<string, RegionGraph>;
  /** The edges into and out of each block, by id, in edge order. */
  into: ReadonlyMap<string, readonly Wire[]>;
  outOf: ReadonlyMap<string, readonly Wire[]>;
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
  const places = resolveContainment(workflow, sink);
  const notes = new Set(workflow.blocks.filter(({ type }) => type === 'note').map(({ id }) => id));
  const wiring = wireEdges(workflow.edges, places, { ...options, notes }, sink);
  const members = findMembers(places, wiring.enabledTargets);
  const wires = wiring.wires.filter(({ source, target }) => members.has(source) && members.has(target));
  const structure = { places, members, ...indexWires(wires) };
  const regions = buildRegions(structure, wiring.starts);
  // A complete order proves that there is no cycle. Most graphs have a complete order.
  if ([...regions.values()].some(({ size, order }) => order.length < size))
    for (const cycle of findCycles(graphOf(members, wires), places)) sink.push(cycle);
  return { ...structure, regions };
}

function graphOf(members: ReadonlySet<string>, wires: readonly Wire[]): DirectedGraph {
  const graph = new DirectedGraph();
  for (const id of members) graph.addNode(id);
  for (const { source, target } of wires) graph.mergeEdge(source, target);
  return graph;
}

function buildRegions(
  { places, members, into, outOf }: Omit<Structure, 'regions'>,
  starts: ReadonlyMap<string, readonly string[]>,
): Map<string, RegionGraph> {
  const idsByContainer: Multimap<string> = new Map();
  for (const id of members) append(idsByContainer, parentOf(places.get(id) as ContainedBlock) ?? '', id);
  const containers = [...members].filter((id) =>
    isContainerType((places.get(id) as ContainedBlock).block.type),
  );
  const regions = new Map<string, RegionGraph>();
  for (const container of ['', ...containers]) {
    const ids = idsByContainer.get(container) ?? [];
    const order = topologicalOrder(ids, outOf);
    const sources = new Set(order.filter((id) => !into.has(id)));
    const startTargets = (starts.get(container) ?? []).filter((id) => sources.has(id));
    const entries = [...new Set([...startTargets, ...sources])];
    regions.set(container, { size: ids.length, order, entries });
  }
  return regions;
}

/** Returns the enabled top-level blocks, and every enabled inner block that a path of edges reaches. */
function findMembers(
  places: ContainedBlocks,
  enabledTargets: ReadonlyMap<string, readonly string[]>,
): Set<string> {
  const reachedIds = new Set<string>();
  for (const [id, place] of places) if (place.enabled && place.containers.length === 0) reachedIds.add(id);
  for (const id of reachedIds) for (const target of enabledTargets.get(id) ?? []) reachedIds.add(target);
  // A block inside a container that cannot run cannot run either.
  return new Set(
    [...reachedIds].filter((id) =>
      places.get(id)?.containers.every((container) => reachedIds.has(container)),
    ),
  );
}

function indexWires(wires: readonly Wire[]): Pick<Structure, 'into' | 'outOf'> {
  const into: Multimap<Wire> = new Map();
  const outOf: Multimap<Wire> = new Map();
  for (const wire of wires) {
    append(into, wire.target, wire);
    append(outOf, wire.source, wire);
  }
  return { into, outOf };
}
