import type { RegionGraph } from '../graph/structure.ts';
import type { BlockClass, Node, Region, RetryPolicy, Subflow } from '../machine/skeleton.ts';
import { isContainerType } from '../schema/read-block.ts';
import { isBlank } from '../schema/known-keys.ts';
import type { Block } from '../schema/workflow.ts';
import type { Compilation } from './compilation.ts';
import { isTriggerType } from './types.ts';

/** The properties of a block that the machine reads, besides its edges. */
export interface NodeSettings {
  retry?: RetryPolicy;
  timeoutMs?: number;
  /** Containers only. */
  subflow?: Omit<Subflow, 'body'>;
}

/** Settings by block id. */
export type NodeSettingsById = ReadonlyMap<string, NodeSettings>;

/**
 * Returns the skeleton: the graph of control flow, which the state machine reads. The nodes of each region are in
 * topological order, with ties broken by block id. Nodes refer to each other by index.
 */
export function buildSkeleton(compilation: Compilation, settings: NodeSettingsById): Region {
  return buildRegion(compilation, settings, '');
}

function buildRegion(compilation: Compilation, settings: NodeSettingsById, containerId: string): Region {
  const graph = compilation.structure.regions.get(containerId) as RegionGraph;
  const indexById = new Map(graph.order.map((id, position) => [id, position]));
  const indexOf = (id: string): number => indexById.get(id) as number;
  const { incomingEdges, outgoingEdges } = compilation.structure;
  return {
    entries: graph.entries.map(indexOf),
    nodes: graph.order.map((id) => {
      const nodeEdges = outgoingEdges.get(id) ?? [];
      const node = buildNode(compilation, settings, id);
      node.ins = (incomingEdges.get(id) ?? []).map(({ source, port }) => ({ from: indexOf(source), port }));
      node.outs = [...new Set(nodeEdges.map(({ target }) => indexOf(target)))];
      node.handlesError = nodeEdges.some(({ port }) => port === 'error');
      if (containerId === '' && nodeEdges.every(({ port }) => port === 'error')) node.terminal = true;
      return node;
    }),
  };
}

function buildNode(compilation: Compilation, settings: NodeSettingsById, id: string): Node {
  const { block } = compilation.structure.containedBlocks.get(id) as { block: Block };
  const { retry, timeoutMs, subflow } = settings.get(id) ?? {};
  return {
    class: classOf(compilation, block, subflow),
    handlesError: false,
    id,
    ins: [],
    kind: isContainerType(block.type) ? block.type : 'block',
    outs: [],
    ...(block.type === 'response' && { answers: true }),
    ...(retry && { retry }),
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(subflow && { subflow: { body: buildRegion(compilation, settings, id), ...subflow } }),
  };
}

/**
 * Returns the class of a block. A container whose count is known at compile time is `inline`: the state machine expands
 * it without a command.
 */
function classOf(compilation: Compilation, block: Block, subflow: NodeSettings['subflow']): BlockClass {
  if (subflow) return subflow.count === undefined ? 'compute' : 'inline';
  if (hasNotificationTools(block)) return 'effect';
  const isTrigger = block.trigger || isTriggerType(block.type);
  return compilation.types.get(block.type)?.class ?? (isTrigger ? 'compute' : 'effect');
}

/** Returns true for a pause with notification tools: it sends requests, like an effect. */
function hasNotificationTools({ type, fields }: Block): boolean {
  const tools = fields['notification'] ?? null;
  return type === 'human_in_the_loop' && !isBlank(tools) && !(Array.isArray(tools) && tools.length === 0);
}
