import { isTriggerType, createPortResolver } from '@heddle/core/drafts';
import type { JsonObject } from '@heddle/core';
import type { BlockWithFields, PortResolver } from '@heddle/core/drafts';
import { isContainer, objectOrEmpty } from '../containers.ts';
import { actualIdOf, skip } from './batch.ts';
import type { Batch, EdgeToLaterBlock, OperationContext } from './batch.ts';
import { stringOrDefault } from './draft-editor.ts';
import type { Connections, EditBlockParams } from './schemas.ts';

const TARGET_HANDLE = /^target(-(top|right|bottom|left))?$/;

/**
 * Replaces the edges of the named ports of a block. An edge to a block that does not exist yet is added at the end of
 * the batch.
 */
export function connect(context: OperationContext, connections: Connections): void {
  const { batch, blockId, operationType } = context;
  const existingEdges = edgesByHandle(batch.editor.edgesFrom(blockId));
  for (const [port, targets] of Object.entries(connections)) {
    const handle = port === 'success' ? 'source' : port;
    if (!checkPort(context, handle)) continue;
    for (const edge of existingEdges.get(handle) ?? []) batch.editor.disconnect(edge);
    for (const target of Array.isArray(targets) ? targets : [targets]) {
      const { block: requestedId, handle: targetHandle } =
        typeof target === 'string' ? { block: target, handle: undefined } : target;
      const edge = { source: blockId, handle, requestedId, targetHandle, operationType };
      if (batch.editor.find(actualIdOf(batch, requestedId))) addEdge(batch, edge);
      else batch.edgesToLaterBlocks.push(edge);
    }
  }
}

/** Adds the edges that waited for their target. */
export function addDeferredEdges(batch: Batch): void {
  for (const edge of batch.edgesToLaterBlocks) {
    if (!batch.editor.find(edge.source)) continue;
    if (addEdge(batch, edge)) {
      const target = actualIdOf(batch, edge.requestedId);
      batch.deferredEdges.push({
        sourceBlockId: edge.source,
        sourceHandle: edge.handle,
        targetBlockId: target,
      });
    }
  }
}

/** Removes the named edges of a block. */
export function removeEdges(
  context: OperationContext,
  edges: NonNullable<EditBlockParams['removeEdges']>,
): void {
  const { batch, blockId } = context;
  for (const { targetBlockId, sourceHandle } of edges) {
    const handle = sourceHandle === 'success' ? 'source' : sourceHandle;
    const target = actualIdOf(batch, targetBlockId);
    const matches = batch.editor.edgesBetween(blockId, target).filter((edge) => handleOf(edge) === handle);
    for (const edge of matches) batch.editor.disconnect(edge);
    if (matches.length === 0) {
      const reason = `No edge leads from the port "${handle}" to the block "${targetBlockId}".`;
      skip(context, 'invalid_edge_target', reason, { targetBlockId, sourceHandle: handle });
    }
  }
}

/** Returns true if the block has the port. Otherwise records a skip. */
function checkPort(context: OperationContext, handle: string): boolean {
  const block = context.batch.editor.find(context.blockId) ?? {};
  if (block['type'] === 'note') return skip(context, 'invalid_edge_source', 'A note has no ports.');
  if (isContainer(block['type']) && handle === `${block['type']}-start-source`) return true;
  // Whether a port exists does not depend on the position and the target of an edge.
  if (!portResolverOf(context, block)(handle, 0, '').unknown) return true;
  const reason = `The block "${stringOrDefault(block['name'])}" has no port "${handle}".`;
  return skip(context, 'invalid_source_handle', reason, { sourceHandle: handle });
}

/**
 * Returns the port resolver of a block. Caches it until the block changes, because the list of branches can be long.
 */
function portResolverOf({ batch, blockId }: OperationContext, block: JsonObject): PortResolver {
  const { conditions, routes } = objectOrEmpty(block['subBlocks']);
  const values = [block['type'], conditions, routes];
  const cachedResolver = batch.portResolvers.get(blockId);
  if (cachedResolver?.values.every((value, index) => value === values[index])) return cachedResolver.resolve;
  const resolve = createPortResolver(toBlockWithFields(blockId, block));
  batch.portResolvers.set(blockId, { values, resolve });
  return resolve;
}

/** Adds an edge if it is allowed. Returns true if it is in the draft afterwards. */
function addEdge(batch: Batch, pendingEdge: EdgeToLaterBlock): boolean {
  const { source, handle, requestedId, targetHandle, operationType } = pendingEdge;
  const { editor } = batch;
  const context = { batch, operationType, blockId: source };
  const target = actualIdOf(batch, requestedId);
  const block = editor.find(target);
  const details = { sourceHandle: handle, targetBlockId: requestedId };
  if (!block) return skip(context, 'invalid_edge_target', `There is no block "${requestedId}".`, details);
  const problem = targetProblem(source, target, block);
  if (problem !== undefined) return skip(context, 'invalid_edge_target', problem, details);
  if (targetHandle !== undefined && !TARGET_HANDLE.test(targetHandle)) {
    const reason = `There is no target port "${targetHandle}".`;
    return skip(context, 'invalid_target_handle', reason, { ...details, targetHandle });
  }
  const edge: JsonObject = {
    id: '',
    source,
    target,
    sourceHandle: handle,
    targetHandle: targetHandle ?? 'target',
  };
  if (!isInScope(batch, edge)) {
    const reason = `"${requestedId}" is in another container than "${source}". Connect it to the container instead.`;
    return skip(context, 'invalid_edge_scope', reason, details);
  }
  const exists = editor.edgesBetween(source, target).some((other) => handleOf(other) === handle);
  if (!exists) editor.connect({ ...edge, id: batch.createId() });
  return true;
}

/**
 * Returns true if the edge does not cross the boundary of a container, except from the start port of a container to a
 * block in it.
 */
function isInScope({ editor }: Batch, edge: JsonObject): boolean {
  const isInside = editor.parentOf(stringOrDefault(edge['target'])) === edge['source'];
  return stringOrDefault(edge['sourceHandle']).endsWith('-start-source')
    ? isInside
    : !isInside && editor.isInSameScope(edge);
}

function targetProblem(source: string, target: string, block: JsonObject): string | undefined {
  if (source === target) return 'A block cannot lead to itself. Put it into a loop to repeat it.';
  const type = stringOrDefault(block['type']);
  if (type === 'note') return 'A note does not run, so no edge can lead to it.';
  if (isTriggerType(type) || block['triggerMode'] === true)
    return 'A trigger starts runs: no edge can lead to it.';
  return undefined;
}

/** Returns the data on which the ports of a block depend. */
export function toBlockWithFields(id: string, block: JsonObject): BlockWithFields {
  const fields = Object.entries(objectOrEmpty(block['subBlocks'])).map(
    ([field, storedField]) => [field, objectOrEmpty(storedField)['value'] ?? null] as const,
  );
  return { id, type: stringOrDefault(block['type']), fields: Object.fromEntries(fields) };
}

function edgesByHandle(edges: Iterable<JsonObject>): Map<string, JsonObject[]> {
  const groups = new Map<string, JsonObject[]>();
  for (const edge of edges) {
    const group = groups.get(handleOf(edge));
    if (group) group.push(edge);
    else groups.set(handleOf(edge), [edge]);
  }
  return groups;
}

function handleOf(edge: JsonObject): string {
  return stringOrDefault(edge['sourceHandle']) || 'source';
}
