import type { RegionGraph } from '../graph/structure.ts';
import type { Wire } from '../graph/wiring.ts';
import type { BlockClass, Node, Region, RetryPolicy, Subflow } from '../machine/skeleton.ts';
import { isContainerType } from '../schema/read-block.ts';
import type { Block } from '../schema/workflow.ts';
import type { Compilation } from './compilation.ts';
import { isTriggerType } from './types.ts';

/** What the machine has to know of a block beside its edges. */
export interface NodeSettings {
  retry?: RetryPolicy;
  timeoutMs?: number;
  /** Containers. */
  subflow?: Omit<Subflow, 'body'>;
}

export type Settings = ReadonlyMap<string, NodeSettings>;

/** The control skeleton: regions of densely indexed nodes, in topological order with ties by block id. */
export function buildSkeleton(compilation: Compilation, settings: Settings): Region {
  return buildRegion(compilation, settings, '');
}

function buildRegion(compilation: Compilation, settings: Settings, container: string): Region {
  const graph = compilation.structure.regions.get(container) as RegionGraph;
  const index = new Map(graph.order.map((id, position) => [id, position]));
  const indexOf = (id: string): number => index.get(id) as number;
  const ends = endsByNode(graph);
  return {
    nodes: graph.order.map((id) => {
      const { ins, outs } = ends.get(id) ?? { ins: [], outs: [] };
      const node = buildNode(compilation, settings, id);
      node.ins = ins.map(({ source, port }) => ({ from: indexOf(source), port }));
      node.outs = [...new Set(outs.map(({ target }) => indexOf(target)))];
      node.handlesError = outs.some(({ port }) => port === 'error');
      if (container === '' && outs.every(({ port }) => port === 'error')) node.terminal = true;
      return node;
    }),
    entries: graph.entries.map(indexOf),
  };
}

function endsByNode(graph: RegionGraph): Map<string, { ins: Wire[]; outs: Wire[] }> {
  const ends = new Map(graph.order.map((id) => [id, { ins: [] as Wire[], outs: [] as Wire[] }]));
  for (const wire of graph.wires) {
    ends.get(wire.source)?.outs.push(wire);
    ends.get(wire.target)?.ins.push(wire);
  }
  return ends;
}

function buildNode(compilation: Compilation, settings: Settings, id: string): Node {
  const { block } = compilation.structure.places.get(id) as { block: Block };
  const { retry, timeoutMs, subflow } = settings.get(id) ?? {};
  return {
    id,
    kind: isContainerType(block.type) ? block.type : 'block',
    class: classOf(compilation, block, subflow),
    ins: [],
    outs: [],
    handlesError: false,
    ...(block.type === 'response' && { answers: true }),
    ...(retry && { retry }),
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(subflow && { subflow: { body: buildRegion(compilation, settings, id), ...subflow } }),
  };
}

/** Containers whose turns are known beforehand cost no work; unknown types may do anything. */
function classOf(compilation: Compilation, block: Block, subflow: NodeSettings['subflow']): BlockClass {
  if (subflow) return subflow.count === undefined ? 'compute' : 'inline';
  const trigger = block.trigger || isTriggerType(block.type);
  return compilation.types.get(block.type)?.class ?? (trigger ? 'compute' : 'effect');
}
