import { isTriggerType, portReader } from '@heddle/core/drafts';
import type { JsonObject } from '@heddle/core';
import type { PortReader, RowBlock } from '@heddle/core/drafts';
import { isContainer, objectOr } from '../containers.ts';
import { actualId, skip } from './batch.ts';
import type { Batch, PendingEdge, Step } from './batch.ts';
import { textOr } from './draft-editor.ts';
import type { Connections, EditedBlock } from './schemas.ts';

const TARGET_HANDLE = /^target(-(top|right|bottom|left))?$/;

/**
 * Replaces the edges of the named ports of a block. An edge to a block that does not exist yet is added at the end of
 * the batch.
 */
export function connect(step: Step, connections: Connections): void {
  const { batch, blockId, operationType } = step;
  const before = edgesByHandle(batch.editor.edgesFrom(blockId));
  for (const [port, given] of Object.entries(connections)) {
    const handle = port === 'success' ? 'source' : port;
    if (!isPort(step, handle)) continue;
    for (const edge of before.get(handle) ?? []) batch.editor.disconnect(edge);
    for (const target of Array.isArray(given) ? given : [given]) {
      const { block: asked, handle: targetHandle } =
        typeof target === 'string' ? { block: target, handle: undefined } : target;
      const edge = { source: blockId, handle, asked, targetHandle, operationType };
      if (batch.editor.find(actualId(batch, asked))) add(batch, edge);
      else batch.pending.push(edge);
    }
  }
}

/** Adds the edges that waited for their target. */
export function connectPending(batch: Batch): void {
  for (const edge of batch.pending) {
    if (!batch.editor.find(edge.source)) continue;
    if (add(batch, edge)) {
      const target = actualId(batch, edge.asked);
      batch.deferred.push({ sourceBlockId: edge.source, sourceHandle: edge.handle, targetBlockId: target });
    }
  }
}

/** Removes the named edges of a block. */
export function removeEdges(step: Step, edges: NonNullable<EditedBlock['removeEdges']>): void {
  const { batch, blockId } = step;
  for (const { targetBlockId, sourceHandle } of edges) {
    const handle = sourceHandle === 'success' ? 'source' : sourceHandle;
    const target = actualId(batch, targetBlockId);
    const found = batch.editor.edgesBetween(blockId, target).filter((edge) => handleOf(edge) === handle);
    for (const edge of found) batch.editor.disconnect(edge);
    if (found.length === 0) {
      const reason = `No edge leads from the port "${handle}" to the block "${targetBlockId}".`;
      skip(step, 'invalid_edge_target', reason, { targetBlockId, sourceHandle: handle });
    }
  }
}

/** Returns true if the block has the port. */
function isPort(step: Step, handle: string): boolean {
  const block = step.batch.editor.find(step.blockId) ?? {};
  if (block['type'] === 'note') return skip(step, 'invalid_edge_source', 'A note has no ports.');
  if (isContainer(block['type']) && handle === `${block['type']}-start-source`) return true;
  if (!portsOf(step, block)(handle, 0, '').unknown) return true;
  const reason = `The block "${textOr(block['name'])}" has no port "${handle}".`;
  return skip(step, 'invalid_source_handle', reason, { sourceHandle: handle });
}

/** Rows of conditions and routers can be long: they are read again only after a change. */
function portsOf({ batch, blockId }: Step, block: JsonObject): PortReader {
  const { conditions, routes } = objectOr(block['subBlocks']);
  const from = [block['type'], conditions, routes];
  const known = batch.ports.get(blockId);
  if (known?.from.every((each, index) => each === from[index])) return known.read;
  const read = portReader(rowBlock(blockId, block));
  batch.ports.set(blockId, { from, read });
  return read;
}

/** Adds an edge if it is allowed. Returns true if it is in the draft afterwards. */
function add(batch: Batch, { source, handle, asked, targetHandle, operationType }: PendingEdge): boolean {
  const { editor } = batch;
  const step = { batch, operationType, blockId: source };
  const target = actualId(batch, asked);
  const block = editor.find(target);
  const ends = { sourceHandle: handle, targetBlockId: asked };
  if (!block) return skip(step, 'invalid_edge_target', `There is no block "${asked}".`, ends);
  const fault = targetFault(source, target, block);
  if (fault !== undefined) return skip(step, 'invalid_edge_target', fault, ends);
  if (targetHandle !== undefined && !TARGET_HANDLE.test(targetHandle)) {
    const reason = `Blocks have no port "${targetHandle}" for edges that end at them.`;
    return skip(step, 'invalid_target_handle', reason, { ...ends, targetHandle });
  }
  const edge: JsonObject = {
    id: '',
    source,
    target,
    sourceHandle: handle,
    targetHandle: targetHandle ?? 'target',
  };
  if (!isInScope(batch, edge)) {
    const reason = `"${asked}" is in another container than "${source}". Connect it to the container instead.`;
    return skip(step, 'invalid_edge_scope', reason, ends);
  }
  const existing = editor.edgesBetween(source, target).some((other) => handleOf(other) === handle);
  if (!existing) editor.connect({ ...edge, id: batch.newId() });
  return true;
}

/** An edge from the start of a container leads inside it, and other edges of the container do not. */
function isInScope({ editor }: Batch, edge: JsonObject): boolean {
  const inside = editor.parentOf(textOr(edge['target'])) === edge['source'];
  return textOr(edge['sourceHandle']).endsWith('-start-source') ? inside : !inside && editor.sameScope(edge);
}

function targetFault(source: string, target: string, block: JsonObject): string | undefined {
  if (source === target) return 'A block cannot lead to itself. Put it into a loop to repeat it.';
  const type = textOr(block['type']);
  if (type === 'note') return 'A note does not run, so no edge can lead to it.';
  if (isTriggerType(type) || block['triggerMode'] === true)
    return 'A trigger starts runs: no edge can lead to it.';
  return undefined;
}

/** Returns the data on which the ports of a block depend. */
export function rowBlock(id: string, block: JsonObject): RowBlock {
  const fields = Object.entries(objectOr(block['subBlocks'])).map(
    ([field, stored]) => [field, objectOr(stored)['value'] ?? null] as const,
  );
  return { id, type: textOr(block['type']), fields: Object.fromEntries(fields) };
}

function edgesByHandle(edges: Iterable<JsonObject>): Map<string, JsonObject[]> {
  const found = new Map<string, JsonObject[]>();
  for (const edge of edges) {
    const same = found.get(handleOf(edge));
    if (same) same.push(edge);
    else found.set(handleOf(edge), [edge]);
  }
  return found;
}

function handleOf(edge: JsonObject): string {
  return textOr(edge['sourceHandle']) || 'source';
}
