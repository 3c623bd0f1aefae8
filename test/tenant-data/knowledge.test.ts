import type { Json, JsonObject } from '@heddle/core';
import type { TenantKnowledge } from '@heddle/engine/tenant-data';
import { describe, expect, it } from 'vitest';
import { callsIn, startModelWithCalls } from '../conformance/runtime/workflow-tools.ts';
import { describeTenantKnowledge } from '../conformance/ports/tenant-knowledge.ts';
import { MemoryKnowledge } from '../support/tenant-knowledge.ts';
import { TestClock } from '../support/test-clock.ts';
import { block, workflow } from '../support/workflow.ts';
import { openTenantEngine, runBlock } from './setup.ts';

describeTenantKnowledge('memory', () => {
  const knowledge = new MemoryKnowledge();
  knowledge.addKnowledgeBase('ada', 'kb_ada');
  knowledge.addKnowledgeBase('bob', 'kb_bob');
  return { knowledge, bases: { ada: 'kb_ada', bob: 'kb_bob' } };
});

const CONNECTOR = { id: 'con_1', connectorType: 'notion', status: 'active' };

/** Returns a store with one knowledge base of the tenant `mine` and one of `theirs`. */
async function createMemoryKnowledge(): Promise<MemoryKnowledge> {
  const knowledge = new MemoryKnowledge();
  knowledge.addKnowledgeBase('mine', 'kb', { con_1: CONNECTOR });
  knowledge.addKnowledgeBase('theirs', 'kb2', { con_1: CONNECTOR });
  await putDocument(knowledge, 'theirs', 'kb2', 'plans.md', 'Buy looms low.');
  return knowledge;
}

const putDocument = async (
  knowledge: MemoryKnowledge,
  ...[tenant, knowledgeBaseId, name, content, tags = {}]: [string, string, string, string, JsonObject?]
) => {
  const document = { name, content, mimeType: 'text/plain', tags, replaces: undefined };
  return knowledge.createDocument(tenant, knowledgeBaseId, document, `put ${name}`);
};

describe('a knowledge block', () => {
  it('searches with the filters and settings in the form that the editor writes', async () => {
    const knowledge = await createMemoryKnowledge();
    await putDocument(knowledge, 'mine', 'kb', 'a.md', 'Looms weave.\nSheep graze.', { team: 'weavers' });
    await putDocument(knowledge, 'mine', 'kb', 'b.md', 'Looms break.', { team: 'smiths' });
    const engine = await openTenantEngine({ tenantKnowledge: knowledge });
    const result = await runBlock(engine, 'knowledge', {
      operation: 'search',
      knowledgeBaseSelector: 'kb',
      query: 'looms',
      topK: '3',
      tagFilters: JSON.stringify([
        { id: '1', tagName: 'team', tagSlot: 'tag1', tagValue: 'weavers', operator: 'eq', collapsed: true },
        { id: '2', tagName: '', tagValue: '' },
      ]),
      searchMode: 'hybrid',
      rerankerEnabled: true,
      rerankerModel: 'rerank-v3.5',
    });
    expect(result).toMatchObject({
      status: 'completed',
      output: {
        query: 'looms',
        totalResults: 1,
        results: [
          { documentName: 'a.md', content: 'Looms weave.', chunkIndex: 0, metadata: { team: 'weavers' } },
        ],
      },
    });
    expect(knowledge.searches).toEqual([
      {
        knowledgeBaseId: 'kb',
        query: 'looms',
        topK: 3,
        tagFilters: [{ tagName: 'team', operator: 'eq', value: 'weavers' }],
        searchMode: 'hybrid',
        rerank: { model: 'rerank-v3.5', inputCount: undefined },
      },
    ]);
  });

  it('searches if no operation is set, even without a query if tag filters are set', async () => {
    const knowledge = await createMemoryKnowledge();
    await putDocument(knowledge, 'mine', 'kb', 'a.md', 'Looms weave.', { team: 'weavers' });
    const engine = await openTenantEngine({ tenantKnowledge: knowledge });
    const tagFilters = [{ tagName: 'team', tagValue: 'weavers' }];
    const result = await runBlock(engine, 'knowledge', { knowledgeBaseId: 'kb', tagFilters });
    expect(result.output).toMatchObject({ query: '', totalResults: 1, results: [{ similarity: 1 }] });
  });

  it('creates, replaces, lists, shows and deletes documents, chunks, tags and connectors', async () => {
    const knowledge = await createMemoryKnowledge();
    const engine = await openTenantEngine({ tenantKnowledge: knowledge });
    const runOperation = async (operation: string, fields: JsonObject = {}) => {
      const result = await runBlock(engine, 'knowledge', {
        operation,
        manualKnowledgeBaseId: 'kb',
        ...fields,
      });
      expect(result.error).toBeNull();
      return result.output as JsonObject;
    };
    const documentTags = JSON.stringify([{ tagName: 'team', value: 'weavers' }, { tagName: '' }]);
    const createdDocument = await runOperation('create_document', {
      name: 'a.md',
      content: 'One.\nTwo.',
      documentTags,
    });
    const documentId = createdDocument['documentId'] as string;
    expect(createdDocument['data']).toMatchObject({
      documentId,
      documentName: 'a.md',
      type: 'document',
      enabled: true,
    });
    expect(await runOperation('get_document', { documentId })).toMatchObject({
      filename: 'a.md',
      mimeType: 'text/markdown',
      chunkCount: 2,
      tags: { team: 'weavers' },
    });
    const addedChunk = await runOperation('upload_chunk', {
      documentSelector: documentId,
      content: 'Three.',
    });
    expect(addedChunk).toMatchObject({ documentName: 'a.md', data: { chunkIndex: 2, content: 'Three.' } });
    const { chunkId = '' } = addedChunk['data'] as JsonObject;
    expect(await runOperation('update_chunk', { documentId, chunkId, enabled: 'false' })).toMatchObject({
      id: chunkId,
      enabled: false,
    });
    const listedChunks = await runOperation('list_chunks', {
      documentId,
      chunkEnabledFilter: 'false',
      limit: '5',
    });
    expect(listedChunks).toMatchObject({ chunks: [{ id: chunkId }], totalChunks: 1, limit: 5, offset: 0 });
    expect(await runOperation('delete_chunk', { documentId, chunkId })).toMatchObject({
      chunkId,
      documentId,
    });
    const replacedDocument = await runOperation('upsert_document', { name: 'a.md', content: 'New.' });
    expect(replacedDocument['data']).toMatchObject({ isUpdate: true, previousDocumentId: documentId });
    const listedDocuments = await runOperation('list_documents', { search: 'A.M', enabledFilter: 'enabled' });
    expect(listedDocuments).toMatchObject({
      totalDocuments: 1,
      documents: [{ id: replacedDocument['documentId'] }],
      limit: 50,
    });
    expect(await runOperation('list_tags')).toMatchObject({ totalTags: 1, tags: [{ displayName: 'team' }] });
    expect(await runOperation('list_connectors')).toMatchObject({
      totalConnectors: 1,
      connectors: [CONNECTOR],
    });
    expect(await runOperation('get_connector', { connectorId: 'con_1' })).toEqual({
      connector: CONNECTOR,
      syncLogs: [],
    });
    expect(await runOperation('trigger_sync', { connectorId: 'con_1' })).toMatchObject({
      connectorId: 'con_1',
    });
    const newDocument = { documentId: replacedDocument['documentId'] as string };
    expect(await runOperation('delete_document', newDocument)).toMatchObject(newDocument);
    expect(await runOperation('list_documents')).toMatchObject({ totalDocuments: 0 });
  });

  it('returns the same errors for ids of another workspace as for unknown ids, in each operation', async () => {
    const knowledge = await createMemoryKnowledge();
    const engine = await openTenantEngine({ tenantKnowledge: knowledge });
    const { changeCount } = knowledge;
    const operations: [operation: string, fields: JsonObject][] = [
      ['search', { query: 'looms' }],
      ['list_documents', {}],
      ['get_document', { documentId: 'doc_2' }],
      ['create_document', { name: 'x', content: 'x' }],
      ['upsert_document', { name: 'plans.md', content: 'x' }],
      ['delete_document', { documentId: 'doc_2' }],
      ['list_chunks', { documentId: 'doc_2' }],
      ['upload_chunk', { documentId: 'doc_2', content: 'x' }],
      ['update_chunk', { documentId: 'doc_2', chunkId: 'chunk_1', content: 'x' }],
      ['delete_chunk', { documentId: 'doc_2', chunkId: 'chunk_1' }],
      ['list_tags', {}],
      ['list_connectors', {}],
      ['get_connector', { connectorId: 'con_1' }],
      ['trigger_sync', { connectorId: 'con_1' }],
    ];
    for (const [operation, fields] of operations) {
      const foreignResult = await runBlock(engine, 'knowledge', {
        operation,
        knowledgeBaseId: 'kb2',
        ...fields,
      });
      const unknownResult = await runBlock(engine, 'knowledge', {
        operation,
        knowledgeBaseId: 'kb9',
        ...fields,
      });
      expect(foreignResult.error).toMatchObject({ code: 'KNOWLEDGE_UNKNOWN' });
      expect(foreignResult.error?.message.replace('kb2', 'kb9')).toBe(unknownResult.error?.message);
      expect(foreignResult.error?.message).not.toContain('low');
    }
    expect(knowledge.changeCount).toBe(changeCount);
  });

  it('stores a document once if the response of the host is lost', async () => {
    const knowledge = await createMemoryKnowledge();
    const initialChangeCount = knowledge.changeCount;
    let attempts = 0;
    class LossyKnowledge extends MemoryKnowledge {
      override readonly createDocument: TenantKnowledge['createDocument'] = async (...args) => {
        const document = await knowledge.createDocument(...args);
        attempts += 1;
        if (attempts === 1) throw new Error('The connection was lost.');
        return document;
      };
    }
    const clock = new TestClock();
    const engine = await openTenantEngine({ tenantKnowledge: new LossyKnowledge(), clock });
    const fields = { operation: 'create_document', knowledgeBaseId: 'kb', name: 'a', content: 'x' };
    const resultPromise = runBlock(engine, 'knowledge', fields);
    await clock.waitForTimer(1000);
    clock.advance(1000);
    expect(await resultPromise).toMatchObject({ status: 'completed' });
    expect([attempts, knowledge.changeCount - initialChangeCount]).toEqual([2, 1]);
  });

  it.each<[description: string, fields: JsonObject, message: RegExp]>([
    ['a search without a query or filters', {}, /neither a "query" nor "tagFilters"/],
    [
      'an unknown operator',
      { tagFilters: [{ tagName: 'a', tagValue: 'b', operator: 'like' }] },
      /must be one of eq/,
    ],
    [
      'a range without an upper bound',
      { tagFilters: [{ tagName: 'a', tagValue: 1, operator: 'between' }] },
      /valueTo/,
    ],
    ['too many results', { query: 'x', topK: 101 }, /topK/],
    ['an unsupported operation', { operation: 'list_folders' }, /does not support: use search,/],
  ])('refuses %s', async (_description, fields, message) => {
    const engine = await openTenantEngine({ tenantKnowledge: await createMemoryKnowledge() });
    const result = await runBlock(engine, 'knowledge', { knowledgeBaseId: 'kb', ...fields });
    expect(result.error?.message).toMatch(message);
  });

  it('fails on a host without knowledge bases, and its deployment warns of the failure', async () => {
    const engine = await openTenantEngine();
    const fields = { knowledgeBaseId: 'kb', query: 'looms' };
    const result = await runBlock(engine, 'knowledge', fields);
    expect(result.error).toMatchObject({ code: 'FEATURE_MISSING', details: { feature: 'knowledge' } });
    const { diagnostics } = await engine.deploy(workflow([block('A', 'knowledge', fields)], ['Start -> A']));
    expect(diagnostics.map(({ code }) => code)).toContain('FEATURE_MISSING');
  });
});

describe('knowledge as a tool of an agent', () => {
  it('searches only the knowledge base that the author has chosen, and none of another workspace', async () => {
    const knowledge = await createMemoryKnowledge();
    await putDocument(knowledge, 'mine', 'kb', 'a.md', 'Looms weave.');
    const calls: { name: string; args: Json }[] = [
      { name: 'knowledge_search', args: { query: 'looms' } },
      { name: 'knowledge_search', args: { query: 'looms', knowledgeBaseId: 'kb2' } },
      { name: 'knowledge_list_documents', args: { knowledgeBaseId: 'kb2' } },
      { name: 'knowledge_list_documents', args: { knowledgeBaseId: 'kb2', workspaceId: 'theirs' } },
    ];
    const model = await startModelWithCalls(calls);
    const engine = await openTenantEngine({ ...model.options, tenantKnowledge: knowledge });
    const tools = [
      { type: 'knowledge', operation: 'search', params: { knowledgeBaseId: 'kb', topK: '2' } },
      { type: 'knowledge', operation: 'list_documents', params: {} },
    ];
    const messages = [{ role: 'user', content: 'Go.' }];
    const agent = block('A', 'agent', { model: 'local/scripted', messages, tools });
    const result = await engine.execute({ workflow: workflow([agent], ['Start -> A']) });
    const [search, searchWithId, foreignList, listWithWorkspaceId] = callsIn(result.output);
    expect(search).toMatchObject({ success: true, result: { results: [{ content: 'Looms weave.' }] } });
    expect(searchWithId).toMatchObject({
      success: false,
      result: expect.stringContaining('schema') as string,
    });
    expect(foreignList).toMatchObject({ success: false });
    expect(foreignList?.result).toBe('The workspace has no knowledge base "kb2".');
    expect(listWithWorkspaceId).toMatchObject({
      success: false,
      result: expect.stringContaining('schema') as string,
    });
    expect(JSON.stringify(result.output)).not.toContain('Buy looms');
    const [searchTool] = model.toolDefinitions() as unknown as { parameters: { properties: object } }[];
    expect(Object.keys(searchTool?.parameters.properties ?? {})).not.toContain('topK');
  });
});
