import { branchPorts, createPortResolver } from '@heddle/core/drafts';
import type { JsonObject } from '@heddle/core';
import { isContainer, parentIdOf } from '../containers.ts';
import type { LintReport } from '../draft-schemas.ts';
import { toBlockWithFields } from '../edit/connections.ts';
import { stringOrDefault } from '../edit/draft-editor.ts';
import type { Graph } from '../graph.ts';
import { MAX_LISTED_ITEMS, blockRefOf, truncateForReport } from './context.ts';

type SourcesAndSinks = Pick<LintReport, 'sources' | 'sinks' | 'orphanBlocks'>;

/** Returns the blocks without incoming edges, without outgoing edges, and without either. Ignores notes. */
export function sourcesAndSinks(graph: Graph): SourcesAndSinks {
  const edges = edgesBetweenBlocks(graph);
  const targetIds = new Set(edges.map(({ target }) => target));
  const sourceIds = new Set(edges.map(({ source }) => source));
  const ids = Object.entries(graph.blocks).flatMap(([id, { type }]) => (type === 'note' ? [] : [id]));
  const blockRefsWhere = (matches: (id: string) => boolean) =>
    ids.filter(matches).map((id) => blockRefOf(graph, id));
  return {
    sources: blockRefsWhere((id) => !targetIds.has(id)),
    sinks: blockRefsWhere((id) => !sourceIds.has(id)),
    orphanBlocks: blockRefsWhere((id) => !targetIds.has(id) && !sourceIds.has(id)),
  };
}

/** Returns the branches of conditions and routers, and the starts of containers, that lead nowhere, at most 500. */
export function emptyOutgoingPorts(graph: Graph): LintReport['emptyOutgoingPorts'] {
  const edgesBySource = Map.groupBy(edgesBetweenBlocks(graph), ({ source }) => source);
  const emptyPorts: LintReport['emptyOutgoingPorts'] = [];
  for (const [id, block] of Object.entries(graph.blocks)) {
    const blockWithFields = toBlockWithFields(id, block);
    const ports = branchPorts(blockWithFields);
    if (ports.length === 0) continue;
    const edges = edgesBySource.get(id) ?? [];
    const branches = isContainer(block['type']) ? undefined : usedBranches(blockWithFields, edges);
    for (const { handle, label } of ports) {
      const isUsed = branches ? branches.has(handle) : hasInnerEdge(graph, id, edges);
      if (isUsed) continue;
      if (emptyPorts.length === MAX_LISTED_ITEMS) return emptyPorts;
      emptyPorts.push({
        ...blockRefOf(graph, id),
        handle: truncateForReport(handle),
        label: truncateForReport(label),
      });
    }
  }
  return emptyPorts;
}

interface BlockEdge {
  source: string;
  target: string;
  handle: string | undefined;
}

/** Returns whether an edge leads from a container to a block inside. */
function hasInnerEdge(graph: Graph, containerId: string, edges: readonly BlockEdge[]): boolean {
  return edges.some(({ target }) => parentIdOf(graph.blocks[target] ?? {}) === containerId);
}

function usedBranches(
  block: Parameters<typeof createPortResolver>[0],
  edges: readonly BlockEdge[],
): Set<string> {
  const resolvePort = createPortResolver(block);
  return new Set(edges.map(({ handle, target }, index) => resolvePort(handle, index, target).port));
}

/** Returns the edges between two different blocks of the draft. */
function edgesBetweenBlocks({ blocks, edges }: Graph): BlockEdge[] {
  return edges.flatMap((edge: JsonObject) => {
    const [source, target] = [stringOrDefault(edge['source']), stringOrDefault(edge['target'])];
    const isBetweenBlocks =
      source !== target && Object.hasOwn(blocks, source) && Object.hasOwn(blocks, target);
    const handle = stringOrDefault(edge['sourceHandle']) || undefined;
    return isBetweenBlocks ? [{ source, target, handle }] : [];
  });
}
