import type { RegionGraph } from '../graph/structure.ts';
import type { Wire } from '../graph/wiring.ts';
import type { BlockClass, Node, Region } from '../machine/skeleton.ts';
import { isContainerType } from '../schema/read-block.ts';
import type { Block } from '../schema/workflow.ts';
import type { Compilation } from './compilation.ts';
import type { ReadContainer } from './container.ts';
import { retryPolicy } from './retry.ts';
import { readTimeout } from './timeout.ts';
import { isTriggerType } from './types.ts';

/** How the containers run, by block id. */
export type Containers = ReadonlyMap<string, ReadContainer>;

/** The control skeleton: regions of densely indexed nodes, in topological order with ties by block id. */
export function buildSkeleton(compilation: Compilation, containers: Containers): Region {
  return buildRegion(compilation, containers, '');
}

function buildRegion(compilation: Compilation, containers: Containers, container: string): Region {
  const graph = compilation.structure.regions.get(container) ?? { order: [], wires: [], entries: [] };
  const index = new Map(graph.order.map((id, position) => [id, position]));
  const indexOf = (id: string): number => index.get(id) as number;
  const ends = endsByNode(graph);
  return {
    nodes: graph.order.map((id) => {
      const { ins, outs } = ends.get(id) ?? { ins: [], outs: [] };
      const node = buildNode(compilation, containers, id);
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

function buildNode(compilation: Compilation, containers: Containers, id: string): Node {
  const { block } = compilation.structure.places.get(id) as { block: Block };
  const read = containers.get(id);
  const retry = retryPolicy(block, compilation.workflow.dialect, compilation.found);
  const timeoutMs = readTimeout(block, compilation.found);
  return {
    id,
    kind: isContainerType(block.type) ? block.type : 'block',
    class: classOf(compilation, block, read),
    ins: [],
    outs: [],
    handlesError: false,
    ...(block.type === 'response' && { answers: true }),
    ...(retry && { retry }),
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(read && { subflow: { body: buildRegion(compilation, containers, id), ...read.subflow } }),
  };
}

/** Containers whose turns are known beforehand cost no work; unknown types may do anything. */
function classOf(compilation: Compilation, block: Block, read: ReadContainer | undefined): BlockClass {
  if (read) return read.subflow.count === undefined ? 'compute' : 'inline';
  return compilation.types.get(block.type)?.class ?? (block.trigger || isTriggerType(block.type) ? 'compute' : 'effect');
}
