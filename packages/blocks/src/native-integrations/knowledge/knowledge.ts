import type { JsonObject } from '@heddle/core/blocks';
import { data, flag, integer, text } from '../../integrations/integration.ts';
import { defineNativeIntegration } from '../native-integration.ts';
import type { NativeToolCall, NativeTool } from '../native-integration.ts';
import { requireFound, idIn, knowledgeOf } from './base.ts';
import { addChunk, deleteChunk, listChunks, updateChunk } from './chunks.ts';
import { createDocument, deleteDocument, listDocuments, getDocument, upsertDocument } from './documents.ts';
import { listTags, searchKnowledge } from './search.ts';

const MAX_CONTENT_CHARS = 1_000_000;
const idArgument = (description: string, fields: readonly string[]) =>
  text(description, { fields, required: true, schema: { minLength: 1, maxLength: 256 } });
const knowledgeBaseArguments = {
  knowledgeBaseId: idArgument('Id of the knowledge base', [
    'knowledgeBaseSelector',
    'manualKnowledgeBaseId',
    'knowledgeBaseId',
  ]),
};
const documentArguments = {
  ...knowledgeBaseArguments,
  documentId: idArgument('Id of the document', ['documentSelector', 'documentId']),
};
const chunkArguments = { ...documentArguments, chunkId: idArgument('Id of the chunk', ['chunkId']) };
const connectorArguments = {
  ...knowledgeBaseArguments,
  connectorId: idArgument('Id of the connector', ['connectorId']),
};
const pageArguments = {
  limit: integer('Maximum number of items; default 50', [1, 100]),
  offset: integer('Number of items to skip at the start of the list', [0, 1_000_000]),
};
const contentArgument = (description: string) =>
  text(description, { schema: { maxLength: MAX_CONTENT_CHARS } });
const newDocumentArguments = {
  ...knowledgeBaseArguments,
  name: text('Name of the document', { required: true, schema: { maxLength: 255 } }),
  content: { ...contentArgument('Text of the document'), required: true as const },
  documentTags: data(
    { type: ['array', 'object'] },
    'Tags of the document: an object with the names of the tags as keys, or a list of objects {tagName, value}',
  ),
};

const tools: { readonly [tool: string]: Omit<NativeTool, 'idempotent' | 'requiredFeature'> } = {
  knowledge_search: {
    description: 'Returns the chunks of documents that best match a query or tags.',
    arguments: {
      ...knowledgeBaseArguments,
      query: text('Text to search for; may be empty if tagFilters are set', {
        schema: { maxLength: 32_768 },
      }),
      topK: integer('Maximum number of results; default 10', [1, 100]),
      tagFilters: data(
        { type: 'array', maxItems: 10 },
        'List of conditions {tagName, operator, tagValue, valueTo}. A document must match all of them',
      ),
      searchMode: text('How to search: vector compares meanings, hybrid also matches words', {
        schema: { enum: ['vector', 'hybrid'] },
      }),
      rerankerEnabled: flag('Whether a reranking model orders the results'),
      rerankerModel: text('Name of the reranking model', { schema: { maxLength: 100 } }),
      rerankerInputCount: integer('Number of results that the reranking model gets', [1, 100]),
    },
    run: searchKnowledge,
  },
  knowledge_list_documents: {
    description: 'Lists the documents of a knowledge base.',
    arguments: {
      ...knowledgeBaseArguments,
      search: text('Text that the names of the listed documents contain', { schema: { maxLength: 200 } }),
      enabledFilter: text('Which documents to list: all (default), enabled or disabled', {
        schema: { enum: ['all', 'enabled', 'disabled'] },
      }),
      ...pageArguments,
    },
    run: listDocuments,
  },
  knowledge_get_document: {
    description: 'Returns a document of a knowledge base, without its content.',
    arguments: documentArguments,
    run: getDocument,
  },
  knowledge_create_document: {
    description: 'Adds text as a document to a knowledge base.',
    arguments: newDocumentArguments,
    run: createDocument,
  },
  knowledge_upsert_document: {
    description: 'Adds text as a document to a knowledge base, in place of an earlier document.',
    arguments: {
      ...newDocumentArguments,
      documentId: text(
        'Id of the document to replace; default: all documents with the same name are replaced',
        {
          fields: ['upsertDocumentId'],
          schema: { maxLength: 256 },
        },
      ),
    },
    run: upsertDocument,
  },
  knowledge_delete_document: {
    description: 'Deletes a document of a knowledge base.',
    arguments: documentArguments,
    run: deleteDocument,
  },
  knowledge_list_chunks: {
    description: 'Lists the chunks of a document. Chunks are the parts of a document that searches return.',
    arguments: {
      ...documentArguments,
      search: text('Text that the listed chunks contain', {
        fields: ['chunkSearch'],
        schema: { maxLength: 200 },
      }),
      enabled: text(
        'Which chunks to list: all (default), true for enabled chunks, or false for disabled chunks',
        {
          fields: ['chunkEnabledFilter'],
          schema: { enum: ['all', 'true', 'false'] },
        },
      ),
      ...pageArguments,
    },
    run: listChunks,
  },
  knowledge_upload_chunk: {
    description: 'Adds a chunk to a document.',
    arguments: {
      ...documentArguments,
      content: { ...contentArgument('The text of the chunk'), required: true },
    },
    run: addChunk,
  },
  knowledge_update_chunk: {
    description:
      'Updates the content of a chunk, or enables or disables the chunk. Searches do not find disabled chunks.',
    arguments: {
      ...chunkArguments,
      content: contentArgument('New text of the chunk'),
      enabled: flag('Whether the chunk is enabled, so that searches find it'),
    },
    run: updateChunk,
  },
  knowledge_delete_chunk: {
    description: 'Deletes a chunk of a document.',
    arguments: chunkArguments,
    run: deleteChunk,
  },
  knowledge_list_tags: {
    description: 'Lists the tags that documents of a knowledge base can have.',
    arguments: knowledgeBaseArguments,
    run: listTags,
  },
  knowledge_list_connectors: {
    description:
      'Lists the connectors of a knowledge base. A connector copies documents from another system into the knowledge base.',
    arguments: knowledgeBaseArguments,
    run: listConnectors,
  },
  knowledge_get_connector: {
    description:
      'Returns a connector of a knowledge base, and the results of the latest syncs of the connector.',
    arguments: connectorArguments,
    run: getConnector,
  },
  knowledge_trigger_sync: {
    description: 'Starts a sync, in which a connector copies documents into the knowledge base.',
    arguments: connectorArguments,
    run: startSync,
  },
};

const TOOL_PREFIX = /^knowledge_/;

export const integration = defineNativeIntegration({
  service: 'knowledge',
  title: 'Knowledge',
  summary: 'Searches and changes knowledge bases of the workspace.',
  setupInstructions:
    'A *knowledge base* is a collection of documents that workflows can search. Knowledge bases are stored by the host (the program that embeds Heddle). They are available only if the host passes the option [`tenantKnowledge`](../../packages/engine/README.md#files-and-knowledge-of-tenants) to the engine. Without this option, the block fails with [FEATURE_MISSING](../errors.md#feature_missing), and `heddle check` and deployments warn about the block. `heddle run` and `heddle serve` do not support knowledge bases yet.\n\nA block can access only the knowledge bases of the workspace to which its workflow belongs. For a knowledge base of another workspace, the block fails with [KNOWLEDGE_UNKNOWN](../errors.md#knowledge_unknown). A model can choose the knowledge base only if the author of the agent has not set `knowledgeBaseId`. Changes are idempotent: a call that is repeated after a crash or by a retry takes effect only once.',
  types: ['knowledge'],
  settings: {},
  operations: Object.fromEntries(Object.keys(tools).map((tool) => [tool.replace(TOOL_PREFIX, ''), tool])),
  outputs: {
    results:
      'The results of a search, best first: documentId, documentName, sourceUrl, content, chunkIndex, similarity, metadata.',
    query: 'The query of the search.',
    totalResults: 'The number of results.',
    knowledgeBaseId: 'Id of the knowledge base.',
    documents: 'The listed documents.',
    totalDocuments: 'Number of documents that match.',
    documentId: 'Id of the document.',
    data: 'The document or the chunk that was stored.',
    chunks: 'The listed chunks.',
    totalChunks: 'Number of chunks that match.',
    chunkId: 'Id of the chunk that was deleted.',
    tags: 'The tags of a knowledge base, or of a document.',
    totalTags: 'Number of tags.',
    connectors: 'The listed connectors.',
    totalConnectors: 'Number of connectors.',
    connector: 'The connector.',
    syncLogs: 'The latest syncs of the connector.',
    connectorId: 'Id of the connector whose sync was started.',
    message: 'What was changed.',
  },
  // All tools are idempotent, because the host makes each change once for its key.
  tools: Object.fromEntries(
    Object.entries(tools).map(([name, tool]): [string, NativeTool] => [
      name,
      { ...tool, idempotent: true, requiredFeature: 'knowledge' },
    ]),
  ),
});

/** Lists the connectors of a knowledge base. */
async function listConnectors(call: NativeToolCall): Promise<JsonObject> {
  const knowledgeBaseId = idIn(call, 'knowledgeBaseId');
  const connectors = requireFound(await knowledgeOf(call).listConnectors(knowledgeBaseId), call);
  return { knowledgeBaseId, connectors, totalConnectors: connectors.length };
}

/** Returns a connector with its latest syncs. */
async function getConnector(call: NativeToolCall): Promise<JsonObject> {
  return requireFound(await knowledgeOf(call).getConnector(connectorIdsOf(call)), call);
}

/** Starts a sync. */
async function startSync(call: NativeToolCall): Promise<JsonObject> {
  const ids = connectorIdsOf(call);
  requireFound(await knowledgeOf(call).startSync(ids, call.idempotencyKey), call);
  return { connectorId: ids.connectorId, message: 'A sync of the connector was started.' };
}

function connectorIdsOf(call: NativeToolCall): { knowledgeBaseId: string; connectorId: string } {
  return { knowledgeBaseId: idIn(call, 'knowledgeBaseId'), connectorId: idIn(call, 'connectorId') };
}
