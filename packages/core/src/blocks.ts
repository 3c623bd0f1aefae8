import './node-version.ts';

// API for executors of blocks
export { BlockError, EngineError, InvariantError, isBlockError, isEngineError } from './errors.ts';
export type { BlockErrorCode } from './errors.ts';
export { isJsonObject, getOwn } from './json.ts';
export type { Json, JsonObject } from './json.ts';
export type { BlockClass, Region } from './machine/skeleton.ts';
export type {
  BlockConfig,
  CollectionSource,
  ConditionRow,
  ContainerConfig,
  CountSource,
  VariableConfig,
} from './plan/plan.ts';
export type {
  BlockContext,
  BlockEmission,
  BlockExecutor,
  BlockResult,
  Clock,
  NotificationOutcome,
  ResumeContext,
  StepCall,
  StepOptions,
} from './ports.ts';
export { bindCode, bindExpression } from './refs/bind.ts';
export { envNamesIn, referencesIn } from './refs/template.ts';
export type { Lookup } from './refs/lookup.ts';
export { normalizeName } from './refs/names.ts';
export { resolveReference, resolveTemplate } from './refs/resolve.ts';
export { fieldSchemas } from './schema/block-fields.ts';
export type { CodeTemplate, ExpressionTemplate, Reference, Template } from './refs/template.ts';
