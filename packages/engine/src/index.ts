/** The embeddable workflow engine. */
export { createEngine } from './create.ts';
export { defineBlock } from './executors/define-block.ts';
export type { EgressOptions, EngineOptions, EnvironmentValue, SandboxLimits } from './options.ts';
export type { RuntimeProvider } from './runtime-port.ts';
export type {
  Deployed,
  Engine,
  ExecuteOptions,
  ListQuery,
  RunDetail,
  RunEvent,
  RunHandle,
  RunResource,
  WorkflowSource,
} from './types.ts';
export { EngineError, isEngineError } from '@heddle/core';
