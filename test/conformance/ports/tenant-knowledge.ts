import type { NewKnowledgeDocument, TenantKnowledge } from '@heddle/engine/tenant-data';
import { describe, expect, it } from 'vitest';

type Tenant = 'ada' | 'bob';

/** Empty knowledge bases without connectors. */
export interface KnowledgeSetup {
  knowledge: TenantKnowledge;
  /** An empty knowledge base of each tenant. */
  bases: { readonly [tenant in Tenant]: string };
}

const DOCUMENT: NewKnowledgeDocument = {
  name: 'looms.md',
  content: 'A loom weaves cloth.',
  mimeType: 'text/markdown',
  tags: {},
  replaces: undefined,
};
const SEARCH = { query: 'loom', topK: 5, tagFilters: [], searchMode: undefined, rerank: undefined };
const PAGE = { search: undefined, enabled: 'all', limit: 50, offset: 0 } as const;

/** Tests an implementation of knowledge bases. Searches must find a document as soon as its status is `completed`. */
export function describeTenantKnowledge(
  name: string,
  open: () => Promise<KnowledgeSetup> | KnowledgeSetup,
): void {
  describe(`${name}: knowledge bases of tenants`, () => {
    let keyCount = 0;
    const create = async (
      { knowledge, bases }: KnowledgeSetup,
      overrides: Partial<NewKnowledgeDocument> = {},
      key = `key ${(keyCount += 1)}`,
    ) => {
      const result = await knowledge.createDocument('ada', bases.ada, { ...DOCUMENT, ...overrides }, key);
      if (!result) throw new Error('The document was not stored.');
      const location = { knowledgeBaseId: bases.ada, documentId: result.document.id };
      await expect
        .poll(async () => (await knowledge.getDocument('ada', location))?.processingStatus)
        .toBe('completed');
      return { ...result, location };
    };

    it('find the best matching chunks of documents, up to the requested number', async () => {
      const setup = await open();
      const { document } = await create(setup);
      await create(setup, { name: 'sheep.md', content: 'A sheep has wool.' });
      const search = { ...SEARCH, knowledgeBaseId: setup.bases.ada };
      const results = await setup.knowledge.search('ada', search);
      expect(results?.[0]).toMatchObject({
        documentId: document.id,
        documentName: 'looms.md',
        content: 'A loom weaves cloth.',
        chunkIndex: 0,
      });
      expect(await setup.knowledge.search('ada', { ...search, topK: 1 })).toHaveLength(1);
    });

    it('are not visible to other tenants', async () => {
      const setup = await open();
      const { location } = await create(setup);
      const { knowledge } = setup;
      const { chunks } = (await knowledge.listChunks('ada', location, PAGE)) ?? {};
      const chunkId = chunks?.[0]?.id ?? '';
      const accessAsBob = async (knowledgeBaseId: string, documentId: string) => [
        await knowledge.search('bob', { ...SEARCH, knowledgeBaseId }),
        await knowledge.listDocuments('bob', knowledgeBaseId, PAGE),
        await knowledge.getDocument('bob', { knowledgeBaseId, documentId }),
        await knowledge.createDocument('bob', knowledgeBaseId, DOCUMENT, `c ${documentId}`),
        await knowledge.deleteDocument('bob', { knowledgeBaseId, documentId }, `d ${documentId}`),
        await knowledge.listChunks('bob', { knowledgeBaseId, documentId }, PAGE),
        await knowledge.addChunk('bob', { knowledgeBaseId, documentId }, 'x', `a ${documentId}`),
        await knowledge.updateChunk('bob', { ...location, chunkId }, { content: 'x' }, `u ${documentId}`),
        await knowledge.deleteChunk('bob', { ...location, chunkId }, `r ${documentId}`),
        await knowledge.listTags('bob', knowledgeBaseId),
        await knowledge.listConnectors('bob', knowledgeBaseId),
      ];
      const noResults = Array.from({ length: 11 }, () => undefined);
      expect(await accessAsBob(location.knowledgeBaseId, location.documentId)).toEqual(noResults);
      expect(await accessAsBob('unknown', 'unknown')).toEqual(noResults);
      // Another knowledge base does not have the document either.
      const locationInOtherBase = { ...location, knowledgeBaseId: setup.bases.bob };
      expect(await knowledge.getDocument('bob', locationInOtherBase)).toBeUndefined();
      expect(await knowledge.getDocument('ada', location)).toMatchObject({ filename: 'looms.md' });
    });

    it('store a document once for an idempotency key', async () => {
      const setup = await open();
      const firstResult = await create(setup, {}, 'k');
      const secondResult = await create(setup, { name: 'other.md' }, 'k');
      expect(secondResult.document.id).toBe(firstResult.document.id);
      const list = await setup.knowledge.listDocuments('ada', setup.bases.ada, PAGE);
      expect(list).toMatchObject({ documents: [{ filename: 'looms.md' }], total: 1 });
    });

    it('replace documents by id or by name', async () => {
      const setup = await open();
      const firstResult = await create(setup);
      const secondResult = await create(setup, { replaces: 'name', content: 'New looms.' });
      expect(secondResult.replacedIds).toEqual([firstResult.document.id]);
      const thirdResult = await create(setup, {
        replaces: { id: secondResult.document.id },
        name: 'renamed.md',
      });
      expect(thirdResult.replacedIds).toEqual([secondResult.document.id]);
      const fourthResult = await create(setup, { replaces: 'name' });
      expect(fourthResult.replacedIds).toEqual([]);
      const list = await setup.knowledge.listDocuments('ada', setup.bases.ada, { ...PAGE, limit: 1 });
      expect(list).toMatchObject({ total: 2 });
      expect(list?.documents).toHaveLength(1);
    });

    it('add, change and delete chunks and documents once for an idempotency key', async () => {
      const setup = await open();
      const { knowledge } = setup;
      const { location } = await create(setup);
      const chunk = await knowledge.addChunk('ada', location, 'A shuttle.', 'k1');
      expect(chunk).toMatchObject({ content: 'A shuttle.', contentLength: 10, enabled: true });
      expect(await knowledge.addChunk('ada', location, 'A shuttle.', 'k1')).toEqual(chunk);
      const chunkLocation = { ...location, chunkId: chunk?.id ?? '' };
      const changedChunk = await knowledge.updateChunk('ada', chunkLocation, { enabled: false }, 'k2');
      expect(changedChunk).toMatchObject({ id: chunk?.id, content: 'A shuttle.', enabled: false });
      const disabledChunks = await knowledge.listChunks('ada', location, { ...PAGE, enabled: 'disabled' });
      expect(disabledChunks).toMatchObject({ chunks: [{ id: chunk?.id }], total: 1 });
      const search = { ...SEARCH, query: 'shuttle', knowledgeBaseId: location.knowledgeBaseId };
      const results = (await knowledge.search('ada', search)) ?? [];
      expect(results.map(({ content }) => content)).not.toContain('A shuttle.');
      expect(await knowledge.deleteChunk('ada', chunkLocation, 'k3')).toBe(true);
      expect(await knowledge.deleteChunk('ada', chunkLocation, 'k3')).toBe(true);
      expect(await knowledge.deleteChunk('ada', chunkLocation, 'k4')).toBeUndefined();
      expect(await knowledge.deleteDocument('ada', location, 'k5')).toBe(true);
      expect(await knowledge.deleteDocument('ada', location, 'k5')).toBe(true);
      expect(await knowledge.deleteDocument('ada', location, 'k6')).toBeUndefined();
      expect(await knowledge.search('ada', { ...search, query: 'loom' })).toEqual([]);
    });
  });
}
