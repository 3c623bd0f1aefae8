import type { JsonObject } from '@heddle/core';
import type {
  KnowledgeChunk,
  KnowledgeDocument,
  KnowledgeTagFilter,
  NewKnowledgeDocument,
  TenantKnowledge,
} from '@heddle/engine/tenant-data';

type Tenant = string | undefined;

interface StoredDocument {
  document: KnowledgeDocument;
  chunks: KnowledgeChunk[];
}

interface KnowledgeBase {
  documents: Map<string, StoredDocument>;
  connectors: Map<string, JsonObject>;
}

const TIMESTAMP = '2026-01-01T00:00:00.000Z';

/**
 * Stores knowledge bases of tenants in memory, in place of a host application. Each line of a document is a chunk. The
 * similarity of a chunk is the share of the query's words that the chunk contains.
 */
export class MemoryKnowledge implements TenantKnowledge {
  readonly #bases = new Map<string, KnowledgeBase>();
  readonly #results = new Map<string, unknown>();
  #lastIdNumber = 0;
  /** Number of changes. */
  changeCount = 0;
  /** The searches so far. */
  readonly searches: Parameters<TenantKnowledge['search']>[1][] = [];

  /** Adds an empty knowledge base. */
  addKnowledgeBase(tenant: Tenant, id: string, connectors: { [id: string]: JsonObject } = {}): void {
    this.#bases.set(`${tenant} ${id}`, {
      documents: new Map(),
      connectors: new Map(Object.entries(connectors)),
    });
  }

  readonly search: TenantKnowledge['search'] = (tenant, search) => {
    const base = this.#base(tenant, search.knowledgeBaseId);
    if (!base) return undefined;
    this.searches.push(search);
    const words = search.query?.toLowerCase().split(/\W+/).filter(Boolean);
    return [...base.documents.values()]
      .filter(({ document }) => search.tagFilters.every((filter) => matchesTagFilter(document, filter)))
      .flatMap(({ document, chunks }) =>
        chunks
          .filter(({ enabled }) => enabled)
          .map(({ content, chunkIndex }) => ({
            ...{ documentId: document.id, documentName: document.filename, sourceUrl: document.sourceUrl },
            ...{ content, chunkIndex, metadata: document.tags, similarity: shareOfWordsIn(words, content) },
          })),
      )
      .filter(({ similarity }) => similarity > 0)
      .toSorted((one, other) => other.similarity - one.similarity)
      .slice(0, search.topK);
  };

  readonly listDocuments: TenantKnowledge['listDocuments'] = (
    tenant,
    id,
    { search = '', enabled, limit, offset },
  ) => {
    const base = this.#base(tenant, id);
    if (!base) return undefined;
    const matchingDocuments = [...base.documents.values()]
      .map(({ document }) => document)
      .filter(({ filename }) => filename.toLowerCase().includes(search.toLowerCase()))
      .filter((document) => enabled === 'all' || document.enabled === (enabled === 'enabled'));
    return { documents: matchingDocuments.slice(offset, offset + limit), total: matchingDocuments.length };
  };

  readonly getDocument: TenantKnowledge['getDocument'] = (tenant, { knowledgeBaseId, documentId }) =>
    this.#base(tenant, knowledgeBaseId)?.documents.get(documentId)?.document;

  readonly createDocument: TenantKnowledge['createDocument'] = (tenant, id, newDocument, key) => {
    const base = this.#base(tenant, id);
    return base && this.#applyOnce(tenant, key, () => this.#create(base, newDocument));
  };

  readonly deleteDocument: TenantKnowledge['deleteDocument'] = (
    tenant,
    { knowledgeBaseId, documentId },
    key,
  ) => {
    const base = this.#base(tenant, knowledgeBaseId);
    return base && this.#applyOnce(tenant, key, () => (base.documents.delete(documentId) ? true : undefined));
  };

  readonly listChunks: TenantKnowledge['listChunks'] = (
    tenant,
    target,
    { search = '', enabled, limit, offset },
  ) => {
    const storedDocument = this.#storedDocument(tenant, target);
    if (!storedDocument) return undefined;
    const matchingChunks = storedDocument.chunks
      .filter(({ content }) => content.toLowerCase().includes(search.toLowerCase()))
      .filter((chunk) => enabled === 'all' || chunk.enabled === (enabled === 'enabled'));
    return { chunks: matchingChunks.slice(offset, offset + limit), total: matchingChunks.length };
  };

  readonly addChunk: TenantKnowledge['addChunk'] = (tenant, target, content, key) => {
    const storedDocument = this.#storedDocument(tenant, target);
    return (
      storedDocument &&
      this.#applyOnce(tenant, key, () => {
        const chunk = this.#createChunk(content, storedDocument.chunks.length);
        storedDocument.chunks.push(chunk);
        return chunk;
      })
    );
  };

  readonly updateChunk: TenantKnowledge['updateChunk'] = (tenant, target, { content, enabled }, key) => {
    const chunks = this.#storedDocument(tenant, target)?.chunks ?? [];
    const index = chunks.findIndex(({ id }) => id === target.chunkId);
    const chunk = chunks[index];
    return (
      chunk &&
      this.#applyOnce(tenant, key, () => {
        const updatedChunk = {
          ...chunk,
          ...(content !== undefined && { content, contentLength: content.length }),
          ...(enabled !== undefined && { enabled }),
        };
        chunks[index] = updatedChunk;
        return updatedChunk;
      })
    );
  };

  readonly deleteChunk: TenantKnowledge['deleteChunk'] = (tenant, target, key) =>
    this.#applyOnce(tenant, key, () => {
      const chunks = this.#storedDocument(tenant, target)?.chunks ?? [];
      const index = chunks.findIndex(({ id }) => id === target.chunkId);
      if (index < 0) return undefined;
      chunks.splice(index, 1);
      return true as const;
    });

  readonly listTags: TenantKnowledge['listTags'] = (tenant, id) =>
    this.#base(tenant, id) && [{ id: 't1', displayName: 'team', tagSlot: 'tag1', fieldType: 'text' }];

  readonly listConnectors: TenantKnowledge['listConnectors'] = (tenant, id) => {
    const base = this.#base(tenant, id);
    return base && [...base.connectors.values()];
  };

  readonly getConnector: TenantKnowledge['getConnector'] = (tenant, { knowledgeBaseId, connectorId }) => {
    const connector = this.#base(tenant, knowledgeBaseId)?.connectors.get(connectorId);
    return connector && { connector, syncLogs: [] };
  };

  readonly startSync: TenantKnowledge['startSync'] = (tenant, { knowledgeBaseId, connectorId }, key) =>
    this.#base(tenant, knowledgeBaseId)?.connectors.has(connectorId)
      ? this.#applyOnce(tenant, key, () => true as const)
      : undefined;

  #base(tenant: Tenant, id: string): KnowledgeBase | undefined {
    return this.#bases.get(`${tenant} ${id}`);
  }

  #storedDocument(
    tenant: Tenant,
    target: { knowledgeBaseId: string; documentId: string },
  ): StoredDocument | undefined {
    return this.#base(tenant, target.knowledgeBaseId)?.documents.get(target.documentId);
  }

  #applyOnce<T>(tenant: Tenant, key: string, change: () => T): T {
    const resultKey = `${tenant} ${key}`;
    if (this.#results.has(resultKey)) return this.#results.get(resultKey) as T;
    const result = change();
    if (result === undefined) return result;
    this.changeCount += 1;
    this.#results.set(resultKey, result);
    return result;
  }

  #create(base: KnowledgeBase, { name, content, mimeType, tags, replaces }: NewKnowledgeDocument) {
    const replacedIds = [...base.documents.values()]
      .filter(({ document: { id, filename } }) => {
        if (replaces === undefined) return false;
        return replaces === 'name' ? filename === name : replaces.id === id;
      })
      .map(({ document }) => document.id);
    for (const id of replacedIds) base.documents.delete(id);
    const lines = content.split('\n').filter((line) => line !== '');
    const chunks = lines.map((line, index) => this.#createChunk(line, index));
    const document = {
      ...{ id: this.#createId('doc'), filename: name, mimeType, fileSize: Buffer.byteLength(content) },
      ...{ enabled: true, processingStatus: 'completed', processingError: null, chunkCount: chunks.length },
      ...{ tokenCount: lines.length, characterCount: content.length },
      ...{ uploadedAt: TIMESTAMP, updatedAt: TIMESTAMP, connectorId: null, sourceUrl: null, tags },
    } as KnowledgeDocument;
    base.documents.set(document.id, { document, chunks });
    return { document, replacedIds };
  }

  #createChunk(content: string, chunkIndex: number): KnowledgeChunk {
    return {
      ...{ id: this.#createId('chunk'), chunkIndex, content, contentLength: content.length, tokenCount: 1 },
      ...{ enabled: true, createdAt: TIMESTAMP, updatedAt: TIMESTAMP },
    };
  }

  #createId(kind: string): string {
    this.#lastIdNumber += 1;
    return `${kind}_${this.#lastIdNumber}`;
  }
}

function shareOfWordsIn(words: readonly string[] | undefined, content: string): number {
  if (!words) return 1;
  const text = content.toLowerCase();
  return words.filter((word) => text.includes(word)).length / words.length;
}

function matchesTagFilter(
  { tags }: KnowledgeDocument,
  { tagName, operator, value }: KnowledgeTagFilter,
): boolean {
  const tag = tags[tagName];
  if (operator === 'neq') return tag !== value;
  return operator === 'eq' ? tag === value : String(tag).includes(String(value));
}
