import { diagnostic } from '../plan/diagnostics.ts';
import type { Diagnostic, DiagnosticSink } from '../plan/diagnostics.ts';
import type { Edge } from '../schema/workflow.ts';
import { parentOf } from './containment.ts';
import type { ContainedBlock, ContainedBlocks } from './containment.ts';
import { append } from './multimap.ts';
import { createPortResolver } from './ports.ts';
import type { PortResolver } from './ports.ts';

/** An edge between two blocks of the same container, or of the top level. Runs follow it. */
export interface RegionEdge {
  source: string;
  target: string;
  port: string;
}

export interface ClassifiedEdges {
  /** Without duplicates, in edge order. */
  regionEdges: RegionEdge[];
  /** By container: the inner blocks that an edge from the container leads to, in edge order. */
  starts: ReadonlyMap<string, readonly string[]>;
  /**
   * By block: the targets of its edges to enabled blocks, even of edges that are not region edges. Such edges also make
   * inner blocks part of a body.
   */
  enabledTargets: ReadonlyMap<string, readonly string[]>;
}

export interface ClassifyOptions {
  /** True: an edge to an unknown block is a warning instead of an error. */
  compat: boolean;
  /** Ports that registered executors declare, by block type. */
  ports: ReadonlyMap<string, readonly string[]>;
  /** Ids of blocks that never run (notes). */
  noteIds: ReadonlySet<string>;
}

/** Classifies every edge by its effect on a run, and reports invalid edges. */
export function classifyEdges(
  edges: readonly Edge[],
  containedBlocks: ContainedBlocks,
  options: ClassifyOptions,
  sink: DiagnosticSink,
): ClassifiedEdges {
  const classifiedEdges = {
    regionEdges: [] as RegionEdge[],
    starts: new Map<string, string[]>(),
    enabledTargets: new Map<string, string[]>(),
  };
  const seenKeys = new Set<string>();
  const resolvers = new Map<string, { resolve: PortResolver; edgeCount: number }>();
  edges.forEach((edge, index) => {
    const endpoints = findEndpoints(edge, index, { containedBlocks, options, sink });
    if (!endpoints) return;
    const { source, target } = endpoints;
    const resolver = resolvers.get(edge.source) ?? {
      resolve: createPortResolver(source.block, options.ports.get(source.block.type)),
      edgeCount: 0,
    };
    resolvers.set(edge.source, resolver);
    const position = resolver.edgeCount++;
    if (!source.enabled || !target.enabled) return;
    append(classifiedEdges.enabledTargets, edge.source, edge.target);
    if (parentOf(target) === edge.source) append(classifiedEdges.starts, edge.source, edge.target);
    // An edge from a body back to its container has no effect.
    else if (parentOf(source) === edge.target) return;
    else if (parentOf(source) !== parentOf(target))
      sink.push(edgeAcrossContainersDiagnostic(index, source, target));
    else {
      const { port, unknown } = resolver.resolve(edge.port, position, edge.target);
      if (unknown) sink.push(unknownPortDiagnostic(edge, index, source, port));
      const key = JSON.stringify([edge.source, edge.target, port]);
      if (!seenKeys.has(key))
        classifiedEdges.regionEdges.push({ source: edge.source, target: edge.target, port });
      seenKeys.add(key);
    }
  });
  return classifiedEdges;
}

interface EdgeContext {
  containedBlocks: ContainedBlocks;
  options: ClassifyOptions;
  sink: DiagnosticSink;
}

function findEndpoints(
  edge: Edge,
  index: number,
  context: EdgeContext,
): { source: ContainedBlock; target: ContainedBlock } | undefined {
  const { containedBlocks, options, sink } = context;
  const source = containedBlocks.get(edge.source);
  const target = containedBlocks.get(edge.target);
  if (source && target) {
    if (source !== target) return { source, target };
    sink.push(selfEdgeDiagnostic(index, source));
    return undefined;
  }
  for (const end of ['source', 'target'] as const) {
    if (!containedBlocks.has(edge[end]) && !options.noteIds.has(edge[end]))
      sink.push(edgeToUnknownBlockDiagnostic(edge, index, end, options.compat));
  }
  return undefined;
}

function edgeToUnknownBlockDiagnostic(
  edge: Edge,
  index: number,
  end: 'source' | 'target',
  compat: boolean,
): Diagnostic {
  return diagnostic('EDGE_TO_NOWHERE', {
    path: ['edges', index, end],
    message: `The edge from "${edge.source}" to "${edge.target}" has a ${end} that does not exist.`,
    hint: 'Remove the edge, or add the block.',
    ...(compat && { severity: 'warning' }),
  });
}

function selfEdgeDiagnostic(index: number, { block }: ContainedBlock): Diagnostic {
  return diagnostic('EDGE_TO_SELF', {
    blockId: block.id,
    path: ['edges', index],
    message: `An edge leads from "${block.name}" to itself.`,
    hint: 'Put the block into a loop to repeat it.',
  });
}

function edgeAcrossContainersDiagnostic(
  index: number,
  source: ContainedBlock,
  target: ContainedBlock,
): Diagnostic {
  return diagnostic('EDGE_ACROSS_SCOPES', {
    blockId: source.block.id,
    path: ['edges', index],
    message: `The edge from "${source.block.name}" to "${target.block.name}" connects blocks of different containers and is ignored.`,
    hint: 'Connect it to the container instead.',
  });
}

function unknownPortDiagnostic(
  edge: Edge,
  index: number,
  { block }: ContainedBlock,
  port: string,
): Diagnostic {
  const effect = port === 'source' ? 'is treated as an edge from the port source' : 'is never taken';
  return diagnostic('PORT_UNKNOWN', {
    blockId: block.id,
    path: ['edges', index, 'sourceHandle'],
    message: `The edge leaves "${block.name}" by the port "${edge.port}", which does not exist; it ${effect}.`,
    hint: 'Draw the edge again.',
  });
}
