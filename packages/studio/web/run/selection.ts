import type { BlockState, Graph, Overview } from '../api/queries.ts';
import type { RunSearch } from '../shell/search.ts';

/** What the URL of the page selects. Every part of the page reads it. */
export interface Selection {
  /** Empty for the run itself, and for a block that has not run. */
  spanId: string;
  block: Graph['blocks'][number] | undefined;
  /** The state of the block within the shown iteration; undefined if it has not run. */
  state: BlockState | undefined;
}

/** Returns the selection in the URL of the page. */
export function selectionOf(
  run: Overview,
  states: readonly BlockState[],
  { span, block }: RunSearch,
): Selection {
  const blockId = block ?? (span === undefined ? undefined : blockIdOf(run.graph, span));
  const state = states.find((candidate) => candidate.blockId === blockId);
  return {
    spanId: span ?? '',
    block: run.graph.blocks.find(({ id }) => id === blockId),
    state,
  };
}

/** Returns the id of the block of a span; for an iteration, the id of its container. */
function blockIdOf(graph: Graph, spanId: string): string | undefined {
  const containerSpanId = /^(.*)\/\d+$/.exec(spanId)?.[1];
  const isSpanOf = (id: string, span: string | undefined) => span === id || span?.endsWith(`/${id}`) === true;
  // Several ids may match, such as `a/b` and `b`: the longest one is the block's.
  return graph.blocks
    .filter(({ id }) => isSpanOf(id, spanId) || isSpanOf(id, containerSpanId))
    .toSorted((a, b) => b.id.length - a.id.length)[0]?.id;
}

/** A container of the shown blocks, with one of its iterations. */
export interface ScopeIteration {
  blockId: string;
  name: string;
  index: number;
  /** The span of the iteration. */
  spanId: string;
}

/** Returns the iterations that lead to a scope, outermost first. */
export function scopeIterationsOf(graph: Graph, scope: string): ScopeIteration[] {
  const iterations: ScopeIteration[] = [];
  let remainingScope = scope;
  let spanId = '';
  while (remainingScope !== '') {
    const block = graph.blocks
      .filter(({ id }) => remainingScope.startsWith(`${id}/`))
      .toSorted((a, b) => b.id.length - a.id.length)[0];
    const [, index] = block ? (/^(\d+)(?:\/|$)/.exec(remainingScope.slice(block.id.length + 1)) ?? []) : [];
    if (!block || index === undefined) return iterations;
    spanId = `${spanId === '' ? '' : `${spanId}/`}${block.id}/${index}`;
    iterations.push({ blockId: block.id, name: block.name, index: Number(index), spanId });
    remainingScope = scope.slice(spanId.length + 1);
  }
  return iterations;
}

/** Returns the iterations that contain the block of a span, outermost first. */
export function iterationsAround(
  graph: Graph,
  block: Graph['blocks'][number],
  spanId: string,
): ScopeIteration[] {
  const iterations = scopeIterationsOf(graph, spanId);
  // For the span of an iteration, the list ends with this iteration itself.
  return iterations.at(-1)?.blockId === block.id ? iterations.slice(0, -1) : iterations;
}

/** Returns the span of the innermost iteration around a span: for an iteration, its own span; at the top level, ''. */
export function scopeOf(graph: Graph, spanId: string): string {
  return scopeIterationsOf(graph, spanId).at(-1)?.spanId ?? '';
}
