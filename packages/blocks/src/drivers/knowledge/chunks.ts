import { own } from '@heddle/core/blocks';
import type { JsonObject } from '@heddle/core/blocks';
import { plainText } from '../../openapi/wire.ts';
import type { DriverCall } from '../driver.ts';
import { unusable } from '../failures.ts';
import { documentOf, found, idIn, knowledgeOf, pageOf, textIn } from './base.ts';

const ENABLED = { true: 'enabled', false: 'disabled' } as const;

/** Lists the chunks of a document. */
export async function listChunks(call: DriverCall): Promise<JsonObject> {
  const place = documentOf(call);
  const page = pageOf(call);
  const filter = textIn(call.args, 'enabled');
  const query = {
    search: textIn(call.args, 'search'),
    enabled: filter === 'true' || filter === 'false' ? ENABLED[filter] : ('all' as const),
    ...page,
  };
  const { chunks, total } = found(await knowledgeOf(call).chunks(place, query), call);
  return { ...place, chunks: chunks.map((chunk) => ({ ...chunk })), totalChunks: total, ...page };
}

/** Adds a chunk to a document. */
export async function addChunk(call: DriverCall): Promise<JsonObject> {
  const knowledge = knowledgeOf(call);
  const place = documentOf(call);
  const content = plainText(own(call.args, 'content') ?? null).toWellFormed();
  const chunk = found(await knowledge.addChunk(place, content, call.idempotencyKey), call);
  const document = await knowledge.document(place);
  const { id: chunkId, ...data } = chunk;
  return {
    ...{ data: { chunkId, ...data }, documentId: place.documentId },
    ...{ documentName: document?.filename ?? null, message: 'The chunk was added.' },
  };
}

/** Changes a chunk. */
export async function updateChunk(call: DriverCall): Promise<JsonObject> {
  const [content, enabled] = ['content', 'enabled'].map((name) => own(call.args, name));
  if (content === undefined && enabled === undefined)
    throw unusable('has neither a "content" nor "enabled" to change');
  const change = {
    ...(content !== undefined && { content: plainText(content).toWellFormed() }),
    ...(typeof enabled === 'boolean' && { enabled }),
  };
  const place = { ...documentOf(call), chunkId: idIn(call, 'chunkId') };
  const chunk = found(await knowledgeOf(call).updateChunk(place, change, call.idempotencyKey), call);
  return { documentId: place.documentId, ...chunk };
}

/** Deletes a chunk. */
export async function deleteChunk(call: DriverCall): Promise<JsonObject> {
  const place = { ...documentOf(call), chunkId: idIn(call, 'chunkId') };
  found(await knowledgeOf(call).deleteChunk(place, call.idempotencyKey), call);
  const { chunkId, documentId } = place;
  return { chunkId, documentId, message: 'The chunk was deleted.' };
}
