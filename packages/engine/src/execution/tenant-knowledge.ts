import type { Json, JsonObject } from '@heddle/core/blocks';
import { tenantAccess } from './tenant-access.ts';
import type { MaybePromise, TenantPort, TenantPortContext } from './tenant-access.ts';

/** The comparison of a document's tag with a value. */
export type TagOperator =
  | 'eq'
  | 'neq'
  | 'contains'
  | 'not_contains'
  | 'starts_with'
  | 'ends_with'
  | 'gt'
  | 'gte'
  | 'lt'
  | 'lte'
  | 'between';

/** A condition on the documents of a search. */
export interface KnowledgeTagFilter {
  /** The name of the tag. */
  tagName: string;
  operator: TagOperator;
  value: string | number | boolean;
  /** The end of the range for `between`. */
  valueTo?: string | number;
}

/** A search: a query, filters, or both. */
export interface KnowledgeSearch {
  knowledgeBaseId: string;
  /** Query of a semantic search. Undefined: everything that the filters match. */
  query: string | undefined;
  /** Maximum number of results. */
  topK: number;
  /** All filters must match. */
  tagFilters: readonly KnowledgeTagFilter[];
  /** `hybrid` adds a keyword search. Undefined: the default of the host. */
  searchMode: 'vector' | 'hybrid' | undefined;
  /** If present, another model reranks the results. */
  rerank: { model: string | undefined; inputCount: number | undefined } | undefined;
}

/** A chunk of a document that a search has found. */
export interface KnowledgeResult {
  documentId: string;
  documentName: string;
  sourceUrl: string | null;
  content: string;
  chunkIndex: number;
  /** From 0 to 1; 1 for results of filters alone. */
  similarity: number;
  /** The tags of the document, by name. */
  metadata: JsonObject;
  rerankerScore?: number;
}

/** A document, without its content. */
export interface KnowledgeDocument {
  id: string;
  filename: string;
  /** Size in bytes. */
  fileSize: number;
  mimeType: string;
  enabled: boolean;
  processingStatus: 'pending' | 'processing' | 'completed' | 'failed';
  processingError: string | null;
  chunkCount: number;
  tokenCount: number;
  characterCount: number;
  /** ISO 8601, as `updatedAt`. */
  uploadedAt: string;
  updatedAt: string;
  connectorId: string | null;
  sourceUrl: string | null;
  /** By name. */
  tags: { [name: string]: string | number | boolean | null };
}

/** A part of a document, the unit of a search. */
export interface KnowledgeChunk {
  id: string;
  chunkIndex: number;
  content: string;
  contentLength: number;
  tokenCount: number;
  enabled: boolean;
  createdAt: string;
  updatedAt: string;
}

/** The page of a list: its maximum number of items, and the number of items to skip. */
interface Page {
  limit: number;
  offset: number;
}

export interface KnowledgeDocumentQuery extends Page {
  /** A part of the name, ignoring case. */
  search: string | undefined;
  enabled: 'all' | 'enabled' | 'disabled';
}

export interface KnowledgeChunkQuery extends Page {
  /** A part of the content, ignoring case. */
  search: string | undefined;
  enabled: 'all' | 'enabled' | 'disabled';
}

/** A document to store, as text. */
export interface NewKnowledgeDocument {
  name: string;
  content: string;
  mimeType: string;
  /** The value of each tag, by the name of the tag. The knowledge base defines the tags. */
  tags: { readonly [name: string]: Json };
  /** The documents to replace: the one with this id, or all with the same name. Undefined: none. */
  replaces: { id: string } | 'name' | undefined;
}

/** The ids of one document, or of one chunk. */
interface DocumentIds {
  knowledgeBaseId: string;
  documentId: string;
}
interface ChunkIds extends DocumentIds {
  chunkId: string;
}

/**
 * Knowledge bases that tenants have stored, for blocks of their workflows. `tenant` is undefined for a workflow without
 * a tenant. Methods return undefined for a knowledge base, document, chunk or connector that does not exist. Treat
 * those of other tenants as unknown.
 *
 * `key` is an idempotency key, unique within the tenant: a repeated call has the same key, changes nothing, and returns
 * the result of the first call. Store the key together with the change.
 *
 * A BlockError fails the block. Other errors are reported, and the block fails with KNOWLEDGE_UNAVAILABLE.
 */
export interface TenantKnowledge {
  /** Returns the best results, best first. */
  search(
    this: void,
    tenant: string | undefined,
    search: KnowledgeSearch,
  ): MaybePromise<KnowledgeResult[] | undefined>;
  /** Returns documents ordered by name, and the number of matches. */
  listDocuments(
    this: void,
    tenant: string | undefined,
    knowledgeBaseId: string,
    query: KnowledgeDocumentQuery,
  ): MaybePromise<{ documents: KnowledgeDocument[]; total: number } | undefined>;
  getDocument(
    this: void,
    tenant: string | undefined,
    ids: DocumentIds,
  ): MaybePromise<KnowledgeDocument | undefined>;
  /**
   * Stores a document, which can be searched once it has been processed. `replacedIds`: ids of the documents that it
   * replaced.
   */
  createDocument(
    this: void,
    tenant: string | undefined,
    knowledgeBaseId: string,
    document: NewKnowledgeDocument,
    key: string,
  ): MaybePromise<{ document: KnowledgeDocument; replacedIds: string[] } | undefined>;
  /** Deletes a document with its chunks. A repeated call also returns true. */
  deleteDocument(
    this: void,
    tenant: string | undefined,
    ids: DocumentIds,
    key: string,
  ): MaybePromise<true | undefined>;
  /** Returns chunks in the order of the document, and the number of matches. */
  listChunks(
    this: void,
    tenant: string | undefined,
    ids: DocumentIds,
    query: KnowledgeChunkQuery,
  ): MaybePromise<{ chunks: KnowledgeChunk[]; total: number } | undefined>;
  /** Adds a chunk to the end of a document. */
  addChunk(
    this: void,
    tenant: string | undefined,
    ids: DocumentIds,
    content: string,
    key: string,
  ): MaybePromise<KnowledgeChunk | undefined>;
  updateChunk(
    this: void,
    tenant: string | undefined,
    ids: ChunkIds,
    change: { content?: string; enabled?: boolean },
    key: string,
  ): MaybePromise<KnowledgeChunk | undefined>;
  /** Deletes a chunk. A repeated call also returns true. */
  deleteChunk(
    this: void,
    tenant: string | undefined,
    ids: ChunkIds,
    key: string,
  ): MaybePromise<true | undefined>;
  /** Returns the tags that documents can have. */
  listTags(
    this: void,
    tenant: string | undefined,
    knowledgeBaseId: string,
  ): MaybePromise<JsonObject[] | undefined>;
  /** Returns the connectors that fill the knowledge base from other systems, without credentials. */
  listConnectors(
    this: void,
    tenant: string | undefined,
    knowledgeBaseId: string,
  ): MaybePromise<JsonObject[] | undefined>;
  /** Returns a connector with its latest syncs. */
  getConnector(
    this: void,
    tenant: string | undefined,
    ids: { knowledgeBaseId: string; connectorId: string },
  ): MaybePromise<{ connector: JsonObject; syncLogs: JsonObject[] } | undefined>;
  /** Starts a sync of a connector unless one is in progress. */
  startSync(
    this: void,
    tenant: string | undefined,
    ids: { knowledgeBaseId: string; connectorId: string },
    key: string,
  ): MaybePromise<true | undefined>;
}

/** The knowledge bases of the run's tenant. Throws KNOWLEDGE_UNAVAILABLE if the host fails. */
export type RunTenantKnowledge = TenantPort<TenantKnowledge>;

/** Returns the knowledge bases of the run's tenant; undefined if the host stores none. */
export function tenantKnowledgeOf(
  knowledge: TenantKnowledge | undefined,
  context: TenantPortContext,
): RunTenantKnowledge | undefined {
  if (!knowledge) return undefined;
  const access = tenantAccess(knowledge, context, {
    code: 'KNOWLEDGE_UNAVAILABLE',
    message: 'The knowledge bases of the workspace are unavailable.',
  });
  return {
    search: (search) => access((knowledgePort, tenant) => knowledgePort.search(tenant, search)),
    listDocuments: (id, query) =>
      access((knowledgePort, tenant) => knowledgePort.listDocuments(tenant, id, query)),
    getDocument: (ids) => access((knowledgePort, tenant) => knowledgePort.getDocument(tenant, ids)),
    createDocument: (id, document, key) =>
      access((knowledgePort, tenant) => knowledgePort.createDocument(tenant, id, document, key)),
    deleteDocument: (ids, key) =>
      access((knowledgePort, tenant) => knowledgePort.deleteDocument(tenant, ids, key)),
    listChunks: (ids, query) =>
      access((knowledgePort, tenant) => knowledgePort.listChunks(tenant, ids, query)),
    addChunk: (ids, content, key) =>
      access((knowledgePort, tenant) => knowledgePort.addChunk(tenant, ids, content, key)),
    updateChunk: (ids, change, key) =>
      access((knowledgePort, tenant) => knowledgePort.updateChunk(tenant, ids, change, key)),
    deleteChunk: (ids, key) => access((knowledgePort, tenant) => knowledgePort.deleteChunk(tenant, ids, key)),
    listTags: (id) => access((knowledgePort, tenant) => knowledgePort.listTags(tenant, id)),
    listConnectors: (id) => access((knowledgePort, tenant) => knowledgePort.listConnectors(tenant, id)),
    getConnector: (ids) => access((knowledgePort, tenant) => knowledgePort.getConnector(tenant, ids)),
    startSync: (ids, key) => access((knowledgePort, tenant) => knowledgePort.startSync(tenant, ids, key)),
  };
}
