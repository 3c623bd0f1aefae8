import type { Json } from '../json.ts';
import type { Region } from '../machine/skeleton.ts';
import type { CodeTemplate, ExpressionTemplate, Reference, Template } from '../refs/template.ts';

/** Version of the plan's JSON. Readers refuse unknown formats; see docs/adr. */
export const PLAN_FORMAT = 1;

/**
 * A compiled workflow: immutable JSON with a content hash. Plans are stored, so the names of these properties stay.
 *
 * Control and data are separate: `skeleton` is all that the machine reads, and small enough for the history of a
 * durable runtime; only executors read `blocks` (configurations by block id).
 */
export interface Plan {
  format: typeof PLAN_FORMAT;
  /** Version of the machine's rules that this plan was compiled for. */
  machine: number;
  /** `sha256:<hex>` over the canonical JSON of everything except `hash` itself. */
  hash: string;
  workflow: { id: string; name: string; description?: string };
  /** True: the deployment requested the lenient behaviour of older engines where Heddle is stricter. */
  compat: boolean;
  /** The block at which a run starts by default. `startCandidates` lists the other possible starts. */
  start: string;
  /** All enabled top-level blocks, even unreachable ones, and in each body the blocks that an edge reaches. */
  skeleton: Region;
  blocks: { [blockId: string]: BlockConfig };
  variables: VariableConfig[];
  limits: PlanLimits;
}

/** Limits of a run that are fixed at compile time. */
export interface PlanLimits {
  /** Maximum number of iterations of a loop. */
  maxLoopTurns: number;
  maxParallelBranches: number;
  /** Grace period in milliseconds: time for running blocks to finish after a failure or a Response block. */
  graceMs: number;
  /** Maximum duration of a run in milliseconds; absent: no deadline. */
  timeoutMs?: number;
  /** `active`: time in which the run waits only for people does not count. */
  deadline: 'total' | 'active';
}

/** A workflow variable. */
export interface VariableConfig {
  id: string;
  name: string;
  type: 'string' | 'number' | 'boolean' | 'object' | 'array' | 'plain';
  /** Coerced to the type of the variable, as at the start of a run. */
  value: Json;
}

/** The configuration of one block for its executor. */
export interface BlockConfig {
  id: string;
  type: string;
  name: string;
  /** True if the block acts as a trigger. */
  trigger: boolean;
  /** Ids of the containers around the block, outermost first. */
  containers: string[];
  /** The block's fields. Values without references and placeholders are `{ kind: 'literal' }`. */
  params: { [name: string]: Template };
  /** Function blocks: the code with its bindings. */
  code?: CodeTemplate;
  /** Condition blocks: rows in order. A row with `otherwise` is the else row and has no expression. */
  conditions?: ConditionRow[];
  /** Container blocks: the source of their iterations or branches. */
  container?: ContainerConfig;
  /** Names of the declared top-level outputs; absent: none are declared, and any path is allowed. */
  outputs?: OutputSchema;
  /** Ids of the blocks with an edge into this one, in edge order (the condition block's `context`). */
  sources: string[];
}

/** A branch of a condition block. */
export interface ConditionRow {
  id: string;
  title: string;
  otherwise: boolean;
  /** Absent on an else row, and on an empty row, which counts as false. */
  expression?: ExpressionTemplate;
}

/** Declared output names. `opaque` fields allow any path below them. */
export interface OutputSchema {
  fields: { [name: string]: { type: string; opaque: boolean } };
}

/** The source of a container's iterations or branches, by kind. */
export type ContainerConfig =
  | { kind: 'for'; count: CountSource }
  | { kind: 'forEach'; collection: CollectionSource }
  | { kind: 'while'; condition: ExpressionTemplate | null }
  | { kind: 'doWhile'; condition: ExpressionTemplate }
  | { kind: 'parallelCount'; count: CountSource }
  | { kind: 'parallelCollection'; collection: CollectionSource };

/**
 * The number of iterations or branches: known at compile time, or an expression whose value is a whole number of at
 * least 1.
 */
export type CountSource = { static: number } | { expression: ExpressionTemplate };
/**
 * `static`: the items themselves. `reference`: one reference, whose value keeps its type. `template`: a list or object
 * with {{placeholders}} in its strings; the JSON is parsed before they are filled in, so that no value can break it.
 * `invalid`: the message with which the container fails when it is reached.
 */
export type CollectionSource =
  | { static: Json[] }
  | { reference: Reference }
  | { template: Template }
  | { invalid: string };
