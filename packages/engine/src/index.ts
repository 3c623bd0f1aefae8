/** The embeddable workflow engine. */
export { createEngine } from './create.ts';
export { isChildRunId } from './execution/child-runs.ts';
export { defineBlock } from './executors/define-block.ts';
export type { ResolvedChild } from './definitions.ts';
export type {
  CodeSandbox,
  ConfiguredService,
  ExecutorServices,
  HttpClient,
  Conversation,
  RunLog,
  RunLogQuery,
} from './executors/services.ts';
export type { EnvironmentValue, TenantEnvironments } from './execution/run-environment.ts';
export type { Credential, CredentialQuery, TenantCredentials } from './secrets/credentials.ts';
export type { FileReader, ReadLimits } from './files/storage.ts';
export type { FileLimits, StoreFilesOptions } from './files/ingest.ts';
export type { EgressOptions, EngineOptions, SandboxLimits } from './options.ts';
export type { RuntimeProvider } from './runtime-port.ts';
export type {
  DeployedVersion,
  Engine,
  ExecuteOptions,
  RunListQuery,
  LogDetail,
  RestartPreview,
  RunChanges,
  RunDetail,
  RunEvent,
  RunHandle,
  RunSummary,
  RunResource,
  WorkflowBlock,
  WorkflowSource,
} from './types.ts';
export { EngineError, isEngineError } from '@heddle/core';
