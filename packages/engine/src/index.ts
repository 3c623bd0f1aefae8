/** The embeddable workflow engine. */
export { createEngine } from './create.ts';
export { defineBlock } from './executors/define-block.ts';
export type {
  Deployed,
  EgressOptions,
  Engine,
  EngineOptions,
  EnvironmentValue,
  ExecuteOptions,
  ListQuery,
  RunDetail,
  RunEvent,
  RunHandle,
  RunResource,
  SandboxLimits,
  WorkflowSource,
} from './types.ts';
export { EngineError, isEngineError } from '@heddle/core';
