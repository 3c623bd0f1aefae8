import type { BlockState, Graph, Overview } from '../api/queries.ts';
import type { RunSearch } from '../shell/search.ts';

/** The selection: one address that every part of the page reads. */
export interface Selection {
  /** Empty: the run itself. */
  spanId: string;
  block: Graph['blocks'][number] | undefined;
  /** The state of the block within the shown iteration; undefined if it has not run. */
  state: BlockState | undefined;
}

/** Returns the selection in the address of the page. */
export function selectionOf(
  run: Overview,
  states: readonly BlockState[],
  { span, block }: RunSearch,
): Selection {
  const blockId = block ?? (span === undefined ? undefined : blockOf(run.graph, span));
  const state = states.find((each) => each.blockId === blockId);
  return {
    spanId: span ?? '',
    block: run.graph.blocks.find(({ id }) => id === blockId),
    state,
  };
}

/** Returns the block of a span; for an iteration, its container. */
function blockOf(graph: Graph, spanId: string): string | undefined {
  const iteration = /^(.*)\/\d+$/.exec(spanId)?.[1];
  const endsWith = (id: string, text: string | undefined) => text === id || text?.endsWith(`/${id}`) === true;
  return graph.blocks
    .filter(({ id }) => endsWith(id, spanId) || endsWith(id, iteration))
    .toSorted((a, b) => b.id.length - a.id.length)[0]?.id;
}

/** A container of the shown blocks, and one of its iterations. */
export interface ScopePart {
  blockId: string;
  name: string;
  index: number;
  /** The span of the iteration. */
  spanId: string;
}

/** Returns the iterations that lead to a scope, outermost first. */
export function scopeParts(graph: Graph, scope: string): ScopePart[] {
  const parts: ScopePart[] = [];
  let rest = scope;
  let spanId = '';
  while (rest !== '') {
    const block = graph.blocks
      .filter(({ id }) => rest.startsWith(`${id}/`))
      .toSorted((a, b) => b.id.length - a.id.length)[0];
    const [, index] = block ? (/^(\d+)(?:\/|$)/.exec(rest.slice(block.id.length + 1)) ?? []) : [];
    if (!block || index === undefined) return parts;
    spanId = `${spanId === '' ? '' : `${spanId}/`}${block.id}/${index}`;
    parts.push({ blockId: block.id, name: block.name, index: Number(index), spanId });
    rest = scope.slice(spanId.length + 1);
  }
  return parts;
}

/** Returns the iterations that contain the block of a span, outermost first. */
export function partsAround(graph: Graph, block: Graph['blocks'][number], spanId: string): ScopePart[] {
  const parts = scopeParts(graph, spanId);
  // The span of an iteration is itself in the list.
  return parts.at(-1)?.blockId === block.id ? parts.slice(0, -1) : parts;
}

/** Returns the span of the iteration that contains a span; empty at the top level. */
export function scopeOf(graph: Graph, spanId: string): string {
  return scopeParts(graph, spanId).at(-1)?.spanId ?? '';
}
