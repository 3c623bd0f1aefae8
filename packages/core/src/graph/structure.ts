import { DirectedGraph } from 'graphology';
import type { Diagnostic } from '../plan/diagnostic.ts';
import type { Workflow } from '../schema/workflow.ts';
import { parentOf, placeBlocks } from './containment.ts';
import type { Place, Places } from './containment.ts';
import { findCycles } from './cycles.ts';
import { topologicalOrder } from './order.ts';
import { wireEdges } from './wiring.ts';
import type { Wire } from './wiring.ts';

/** The blocks of the top level, or of one container's body. */
export interface RegionGraph {
  /** Ids in topological order, ties by id. Incomplete when there is a cycle. */
  order: string[];
  /** In edge order. */
  wires: Wire[];
  /** Blocks without in-edges, in the order in which they start: order of the container's edges, then topological. */
  entries: string[];
}

/** A workflow's control flow: who takes part, where, and who waits for whom. */
export interface Structure {
  places: Places;
  /** Blocks that take part: enabled, and reached by an edge when they stand in a container. */
  members: ReadonlySet<string>;
  /** By container id; the top level under ''. Only containers that are members. */
  regions: ReadonlyMap<string, RegionGraph>;
  /** Whose edges lead into a block, and whose out of it, by id, in edge order. */
  into: ReadonlyMap<string, readonly Wire[]>;
  outOf: ReadonlyMap<string, readonly Wire[]>;
}

export interface StructureOptions {
  compat: boolean;
  ports: ReadonlyMap<string, readonly string[]>;
}

/** The workflow's structure, with every finding about its edges and containers. Linear in blocks and edges but for the heap of the order. */
export function buildStructure(workflow: Workflow, options: StructureOptions, found: Diagnostic[]): Structure {
  const places = placeBlocks(workflow, found);
  const notes = new Set(workflow.blocks.filter(({ type }) => type === 'note').map(({ id }) => id));
  const wiring = wireEdges(workflow.edges, places, { ...options, notes }, found);
  const members = findMembers(places, wiring.paths);
  const graph = new DirectedGraph();
  for (const id of members) graph.addNode(id);
  const wires = wiring.wires.filter(({ source, target }) => members.has(source) && members.has(target));
  for (const { source, target } of wires) graph.mergeEdge(source, target);
  found.push(...findCycles(graph, places));

  const insides = new Map<string, string[]>([['', []]]);
  for (const id of members) {
    const place = places.get(id) as Place;
    if (place.block.type === 'loop' || place.block.type === 'parallel') insides.set(id, []);
  }
  for (const id of members) insides.get(parentOf(places.get(id) as Place) ?? '')?.push(id);
  const inner = new Map<string, Wire[]>();
  for (const wire of wires) append(inner, parentOf(places.get(wire.source) as Place) ?? '', wire);
  const regions = new Map<string, RegionGraph>();
  for (const [container, ids] of insides) {
    const order = topologicalOrder(ids, (id) => graph.outNeighbors(id));
    const starts = wiring.starts.get(container) ?? [];
    const free = new Set(order.filter((id) => graph.inDegree(id) === 0));
    const entries = [...new Set([...starts.filter((id) => free.has(id)), ...free])];
    regions.set(container, { order, wires: inner.get(container) ?? [], entries });
  }
  return { places, members, regions, ...neighbours(wires) };
}

/** Enabled top-level blocks, and every enabled inner block that a path of edges leads to. */
function findMembers(places: Places, paths: ReadonlyMap<string, readonly string[]>): Set<string> {
  const reached = new Set<string>();
  for (const [id, place] of places) if (place.enabled && place.containers.length === 0) reached.add(id);
  for (const id of reached) for (const target of paths.get(id) ?? []) reached.add(target);
  // A block inside a container that is not part itself never runs either.
  return new Set([...reached].filter((id) => places.get(id)?.containers.every((around) => reached.has(around))));
}

function neighbours(wires: readonly Wire[]): Pick<Structure, 'into' | 'outOf'> {
  const into = new Map<string, Wire[]>();
  const outOf = new Map<string, Wire[]>();
  for (const wire of wires) {
    append(into, wire.target, wire);
    append(outOf, wire.source, wire);
  }
  return { into, outOf };
}

function append<T>(lists: Map<string, T[]>, key: string, value: T): void {
  const list = lists.get(key);
  if (list) list.push(value);
  else lists.set(key, [value]);
}
