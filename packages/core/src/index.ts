import './node-version.ts';

// definitions: from a workflow to a plan
export { compile, checkWorkflow } from './plan/compile.ts';
export type { CompileOptions, CompileResult } from './plan/compile.ts';
export type { Diagnostic, Severity } from './plan/diagnostics.ts';
export type { BlockConfig, Plan, PlanLimits } from './plan/plan.ts';
export type { BlockTypeInfo } from './plan/types.ts';
export { readPlan } from './plan/read-plan.ts';
export { startCandidates } from './plan/starts.ts';
export { parseWorkflow, parseWorkflowText } from './schema/parse.ts';
export type { ParseOptions, ParseResult } from './schema/parse.ts';
export { serializeWorkflow } from './schema/serialize.ts';
export type { Workflow } from './schema/workflow.ts';

// errors
export { BlockError, EngineError, InvariantError, isBlockError, isEngineError } from './errors.ts';
export type { EngineErrorCode } from './errors.ts';
export type { Json, JsonObject } from './json.ts';

// ports
export type {
  BlockExecutor,
  Clock,
  DefinitionStore,
  Deployment,
  RunHeader,
  RunQuery,
  RunStore,
  ValueStore,
} from './ports.ts';
export type { Entry } from './record/entry.ts';
export type { BlockLog } from './record/block-log.ts';
export type { PausePoint, RunFailure, RunRecord, RunStatus } from './record/run-record.ts';
