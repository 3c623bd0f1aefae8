import type { Json } from '../json.ts';
import type { Region } from '../machine/skeleton.ts';
import type { CodeTemplate, ExpressionTemplate, Reference, Template } from '../refs/template.ts';

/** Version of the plan's JSON. A reader refuses formats it does not know; see docs/adr. */
export const PLAN_FORMAT = 1;

/**
 * A compiled workflow: immutable, JSON, content-hashed.
 *
 * Control and data are apart from the first format on: `skeleton` is all that the machine reads and is small
 * enough to travel in the history of a durable runtime; `blocks` (configurations by block id) is read by executors only.
 */
export interface Plan {
  format: typeof PLAN_FORMAT;
  /** Version of the machine's rules this plan was compiled for. */
  machine: number;
  /** `sha256:<hex>` over the canonical JSON of everything but `hash` itself. */
  hash: string;
  workflow: { id: string; name: string; description?: string };
  /** True: the deployment asked for the lenient reading of older engines where Heddle is stricter. */
  compat: boolean;
  /** The block a run starts at unless it is told otherwise; `startCandidates` lists the others. */
  start: string;
  /** Every enabled block of the top level, reached or not, and of each body the blocks that an edge reaches. */
  skeleton: Region;
  blocks: { [blockId: string]: BlockConfig };
  variables: VariableConfig[];
  limits: PlanLimits;
}

/** Bounds of a run that are fixed when its plan is compiled. */
export interface PlanLimits {
  maxLoopTurns: number;
  maxParallelBranches: number;
  /** Milliseconds a running block gets to finish after the run has failed or answered. */
  graceMs: number;
  /** Milliseconds a run may last; absent: no deadline. */
  timeoutMs?: number;
  /** `active`: time in which only a person could move the run does not count. */
  deadline: 'total' | 'active';
}

/** A workflow variable. */
export interface VariableConfig {
  id: string;
  name: string;
  type: 'string' | 'number' | 'boolean' | 'object' | 'array' | 'plain';
  /** Already coerced to the type, as at the start of a run. */
  value: Json;
}

/** What an executor needs of one block. */
export interface BlockConfig {
  id: string;
  type: string;
  name: string;
  /** True: the block acts as a trigger. */
  trigger: boolean;
  /** Ids of the containers around the block, outermost first. */
  containers: string[];
  /** The block's fields. Values that hold no reference and no placeholder are `{ kind: 'literal' }`. */
  params: { [name: string]: Template };
  /** Function blocks: the code with its bindings. */
  code?: CodeTemplate;
  /** Condition blocks, in row order; a row with `otherwise` is the else row and has no expression. */
  conditions?: ConditionRow[];
  /** Container blocks. */
  container?: ContainerConfig;
  /** Names of the declared top-level outputs; absent: nothing is declared, every path is allowed. */
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

/** How a container gets its turns or branches. Exactly one source is set. */
export type ContainerConfig =
  | { kind: 'for'; count: CountSource }
  | { kind: 'forEach'; collection: CollectionSource }
  | { kind: 'while'; condition: ExpressionTemplate | null }
  | { kind: 'doWhile'; condition: ExpressionTemplate }
  | { kind: 'parallelCount'; count: CountSource }
  | { kind: 'parallelCollection'; collection: CollectionSource };

/** How many turns or branches: known when compiled, or an expression that gives a whole number of at least 1. */
export type CountSource = { static: number } | { expression: ExpressionTemplate };
/**
 * `static`: the items themselves; `reference`: one reference, resolved natively; `template`: a list or object whose
 * texts hold {{placeholders}} (JSON text is parsed first and filled in after, so no value can break it);
 * `invalid`: the message with which the container fails when it is reached.
 */
export type CollectionSource =
  | { static: Json[] }
  | { reference: Reference }
  | { template: Template }
  | { invalid: string };
