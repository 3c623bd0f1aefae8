/** The interfaces to the files and knowledge bases of tenants, for hosts that implement them. */
export type {
  NewTenantFile,
  RunTenantFiles,
  TenantFile,
  TenantFileChange,
  TenantFileContent,
  TenantFileQuery,
  TenantFiles,
  TenantFolder,
  TenantFolderEntries,
} from './execution/tenant-files.ts';
export type {
  KnowledgeChunk,
  KnowledgeChunkQuery,
  KnowledgeDocument,
  KnowledgeDocumentQuery,
  KnowledgeResult,
  KnowledgeSearch,
  KnowledgeTagFilter,
  NewKnowledgeDocument,
  RunTenantKnowledge,
  TagOperator,
  TenantKnowledge,
} from './execution/tenant-knowledge.ts';
