import './node-version.ts';

// definitions: from a workflow to a plan
export { compile, checkWorkflow } from './plan/compile.ts';
export type { CompileOptions, CompileResult } from './plan/compile.ts';
export type { Diagnostic, Severity } from './plan/diagnostics.ts';
export type { BlockConfig, Plan, PlanLimits } from './plan/plan.ts';
export { readPlan } from './plan/read-plan.ts';
export { startCandidates } from './plan/starts.ts';
export { parseWorkflow, parseWorkflowText } from './schema/parse.ts';
export type { ParseOptions, ParseResult } from './schema/parse.ts';
export { serializeWorkflow } from './schema/serialize.ts';
export type { Workflow } from './schema/workflow.ts';

// for editors of drafts
export { MAX_NESTING } from './graph/containment.ts';
export { branchPorts, portReader } from './graph/ports.ts';
export type { BranchPort, PortReader, ReadPort } from './graph/ports.ts';
export type { RowBlock } from './graph/rows.ts';
export { isTriggerType, TRIGGER_PRIORITY, typeNames, typeTable } from './plan/types.ts';
export type { BlockTypeInfo, TypeTable } from './plan/types.ts';
export { isReserved, normalizeName } from './refs/names.ts';
export { BLOCK_FIELDS } from './schema/block-fields.ts';

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
  NewRun,
  RunQuery,
  RunStore,
  ValueStore,
} from './ports.ts';
export type { Entry } from './record/entry.ts';
export type { BlockLog } from './record/block-log.ts';
export type { PausePoint, RunFailure, RunRecord, RunStatus } from './record/run-record.ts';
