import { getOwn } from '@heddle/core/blocks';
import type { JsonObject } from '@heddle/core/blocks';
import { plainText } from '../../openapi/wire.ts';
import type { NativeToolCall } from '../native-integration.ts';
import { invalidCallError } from '../failures.ts';
import { documentIdsOf, requireFound, idIn, knowledgeOf, pageOf, textIn } from './base.ts';

const ENABLED_FILTERS = { true: 'enabled', false: 'disabled' } as const;

/** Lists the chunks of a document. */
export async function listChunks(call: NativeToolCall): Promise<JsonObject> {
  const ids = documentIdsOf(call);
  const page = pageOf(call);
  const filter = textIn(call.args, 'enabled');
  const query = {
    search: textIn(call.args, 'search'),
    enabled: filter === 'true' || filter === 'false' ? ENABLED_FILTERS[filter] : ('all' as const),
    ...page,
  };
  const { chunks, total } = requireFound(await knowledgeOf(call).listChunks(ids, query), call);
  return { ...ids, chunks: chunks.map((chunk) => ({ ...chunk })), totalChunks: total, ...page };
}

/** Adds a chunk to a document. */
export async function addChunk(call: NativeToolCall): Promise<JsonObject> {
  const knowledge = knowledgeOf(call);
  const ids = documentIdsOf(call);
  const content = plainText(getOwn(call.args, 'content') ?? null).toWellFormed();
  const chunk = requireFound(await knowledge.addChunk(ids, content, call.idempotencyKey), call);
  const document = await knowledge.getDocument(ids);
  const { id: chunkId, ...data } = chunk;
  return {
    ...{ data: { chunkId, ...data }, documentId: ids.documentId },
    ...{ documentName: document?.filename ?? null, message: 'The chunk was added.' },
  };
}

/** Changes a chunk. */
export async function updateChunk(call: NativeToolCall): Promise<JsonObject> {
  const [content, enabled] = ['content', 'enabled'].map((name) => getOwn(call.args, name));
  if (content === undefined && enabled === undefined)
    throw invalidCallError('has neither "content" nor "enabled" to change');
  const change = {
    ...(content !== undefined && { content: plainText(content).toWellFormed() }),
    ...(typeof enabled === 'boolean' && { enabled }),
  };
  const ids = { ...documentIdsOf(call), chunkId: idIn(call, 'chunkId') };
  const chunk = requireFound(await knowledgeOf(call).updateChunk(ids, change, call.idempotencyKey), call);
  return { documentId: ids.documentId, ...chunk };
}

/** Deletes a chunk. */
export async function deleteChunk(call: NativeToolCall): Promise<JsonObject> {
  const ids = { ...documentIdsOf(call), chunkId: idIn(call, 'chunkId') };
  requireFound(await knowledgeOf(call).deleteChunk(ids, call.idempotencyKey), call);
  const { chunkId, documentId } = ids;
  return { chunkId, documentId, message: 'The chunk was deleted.' };
}
