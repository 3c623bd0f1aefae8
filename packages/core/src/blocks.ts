// what executors of blocks are written against
export { BlockError, EngineError, InvariantError, isBlockError, isEngineError } from './errors.ts';
export type { BlockErrorCode } from './errors.ts';
export { isJsonObject, own } from './json.ts';
export type { Json, JsonObject } from './json.ts';
export type { BlockClass } from './machine/skeleton.ts';
export type {
  BlockConfig,
  CollectionSource,
  ContainerConfig,
  CountSource,
  VariableConfig,
} from './plan/plan.ts';
export type {
  BlockContext,
  BlockExecutor,
  BlockResult,
  Clock,
  ResumeContext,
  SecretStore,
} from './ports.ts';
export type { ExpressionTemplate, Reference, Template } from './refs/template.ts';
