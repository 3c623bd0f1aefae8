/** The ports to files and knowledge bases that tenants have stored, for hosts that implement them. */
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
