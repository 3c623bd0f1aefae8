import { stringOrDefault } from '../edit/draft-editor.ts';
import type { RemovedBinding } from '../draft-schemas.ts';
import type { Graph } from '../graph.ts';
import { REFERENCE_KINDS } from '../../transfer/kinds.ts';
import { MAX_OCCURRENCES, referencesOf } from '../../transfer/references.ts';
import type { FoundReference } from '../../transfer/references.ts';
import { MAX_LISTED_ITEMS } from './context.ts';

const KINDS = REFERENCE_KINDS.filter(({ kind }) => kind === 'credential' || kind === 'table');

/** Returns the credentials and tables that blocks reference in `oldGraph` but not in `newGraph`, at most 500. */
export function removedBindings(oldGraph: Graph, newGraph: Graph): RemovedBinding[] {
  const removedReferences = new Map<string, FoundReference>();
  for (const binding of bindingsOf(oldGraph)) {
    if (removedReferences.size === MAX_OCCURRENCES) break;
    removedReferences.set(keyOf(binding), binding);
  }
  for (const binding of bindingsOf(newGraph)) removedReferences.delete(keyOf(binding));
  return [...removedReferences.values()].slice(0, MAX_LISTED_ITEMS).map(({ kind, sourceId, occurrence }) => ({
    blockId: occurrence.blockId,
    blockName: stringOrDefault(oldGraph.blocks[occurrence.blockId]?.['name']),
    field: occurrence.subBlockKey,
    valuePath: occurrence.valuePath,
    kind: kind === 'table' ? 'table' : 'credential',
    resourceId: sourceId,
  }));
}

/** Yields the references of a graph to credentials and tables. Skips placeholders such as `{{NAME}}`. */
function* bindingsOf(graph: Graph): Generator<FoundReference> {
  for (const reference of referencesOf(graph, KINDS)) if (reference.kind !== 'env-var') yield reference;
}

/** Returns a key without the position in a list: a binding that only moves in its list does not count as removed. */
function keyOf({ kind, sourceId, occurrence: { blockId, subBlockKey } }: FoundReference): string {
  return JSON.stringify([blockId, subBlockKey, kind, sourceId]);
}
