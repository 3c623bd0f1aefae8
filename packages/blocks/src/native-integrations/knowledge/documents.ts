import { isJsonObject, getOwn } from '@heddle/core/blocks';
import type { Json, JsonObject } from '@heddle/core/blocks';
import type {
  KnowledgeDocument,
  KnowledgeDocumentQuery,
  NewKnowledgeDocument,
} from '@heddle/engine/tenant-data';
import { plainText } from '../../openapi/wire.ts';
import type { NativeToolCall } from '../native-integration.ts';
import { invalidCallError } from '../failures.ts';
import { textMediaTypeOf } from '../file/text.ts';
import { documentIdsOf, requireFound, idIn, knowledgeOf, pageOf, textIn } from './base.ts';

/** Lists documents. */
export async function listDocuments(call: NativeToolCall): Promise<JsonObject> {
  const knowledgeBaseId = idIn(call, 'knowledgeBaseId');
  const page = pageOf(call);
  const filter = textIn(call.args, 'enabledFilter');
  const query: KnowledgeDocumentQuery = {
    search: textIn(call.args, 'search'),
    enabled: filter === 'enabled' || filter === 'disabled' ? filter : 'all',
    ...page,
  };
  const { documents, total } = requireFound(
    await knowledgeOf(call).listDocuments(knowledgeBaseId, query),
    call,
  );
  return { knowledgeBaseId, documents: documents.map(outputOf), totalDocuments: total, ...page };
}

/** Returns a document. */
export async function getDocument(call: NativeToolCall): Promise<JsonObject> {
  return outputOf(requireFound(await knowledgeOf(call).getDocument(documentIdsOf(call)), call));
}

/** Stores text as a document. */
export async function createDocument(call: NativeToolCall): Promise<JsonObject> {
  const { document } = await storeDocument(call, undefined);
  return {
    data: dataOf(document),
    documentId: document.id,
    message: `The document ${JSON.stringify(document.filename)} was stored.`,
  };
}

/**
 * Stores text as a document in place of the document with the given id. Without an id, replaces all documents with the
 * same name.
 */
export async function upsertDocument(call: NativeToolCall): Promise<JsonObject> {
  const id = textIn(call.args, 'documentId')?.trim();
  const { document, replacedIds } = await storeDocument(call, id ? { id } : 'name');
  const isUpdate = replacedIds.length > 0;
  return {
    data: { ...dataOf(document), isUpdate, previousDocumentId: replacedIds[0] ?? null },
    documentId: document.id,
    message: `The document ${JSON.stringify(document.filename)} was ${isUpdate ? 'replaced' : 'stored'}.`,
  };
}

async function storeDocument(call: NativeToolCall, replaces: NewKnowledgeDocument['replaces']) {
  const knowledge = knowledgeOf(call);
  const { args, idempotencyKey } = call;
  const name = (textIn(args, 'name') ?? '').trim();
  const content = plainText(getOwn(args, 'content') ?? null).toWellFormed();
  const tags = parseTags(getOwn(args, 'documentTags'));
  const document = { name, content, mimeType: textMediaTypeOf(name), tags, replaces };
  return requireFound(
    await knowledge.createDocument(idIn(call, 'knowledgeBaseId'), document, idempotencyKey),
    call,
  );
}

/** Returns the tags of an object, or of a list of `{tagName, value}` as editors write it. */
function parseTags(value: Json | undefined): NewKnowledgeDocument['tags'] {
  if (value === undefined) return {};
  if (isJsonObject(value)) return value;
  if (!Array.isArray(value))
    throw invalidCallError('has an invalid "documentTags": it must be an object or a list');
  const entries = value.flatMap((row): [string, Json][] => {
    if (!isJsonObject(row)) throw invalidCallError('has an invalid tag: it must be an object');
    const name = getOwn(row, 'tagName');
    const tagValue = getOwn(row, 'value') ?? getOwn(row, 'tagValue') ?? '';
    return typeof name === 'string' && name.trim() !== '' && tagValue !== '' ? [[name.trim(), tagValue]] : [];
  });
  return Object.fromEntries(entries);
}

/** Deletes a document. */
export async function deleteDocument(call: NativeToolCall): Promise<JsonObject> {
  const ids = documentIdsOf(call);
  requireFound(await knowledgeOf(call).deleteDocument(ids, call.idempotencyKey), call);
  return { documentId: ids.documentId, message: 'The document was deleted.' };
}

function dataOf({ id, filename, enabled, uploadedAt, updatedAt }: KnowledgeDocument): JsonObject {
  return {
    ...{ documentId: id, documentName: filename, type: 'document' },
    ...{ enabled, createdAt: uploadedAt, updatedAt },
  };
}

function outputOf(document: KnowledgeDocument): JsonObject {
  return { ...document };
}
