import { parentOf } from '../graph/containment.ts';
import type { ContainedBlock, ContainedBlocks } from '../graph/containment.ts';
import { buildStructure } from '../graph/structure.ts';
import type { Json, JsonObject } from '../json.ts';
import { MACHINE_VERSION } from '../machine/skeleton.ts';
import type { Region } from '../machine/skeleton.ts';
import { buildSkeleton } from './build-skeleton.ts';
import type { NodeSettings } from './build-skeleton.ts';
import { checkBlocks, checkJsonFields, checkStartFields } from './check-blocks.ts';
import { checkTriggers } from './check-triggers.ts';
import type { TriggerInfo } from './check-triggers.ts';
import { checkNames, checkReachability, checkReferences, findReachableIds } from './check-references.ts';
import { Compilation } from './compilation.ts';
import { configureBlock } from './configure.ts';
import { readContainer } from './container.ts';
import { contentHash } from './content-hash.ts';
import { DiagnosticList, diagnostic, hasErrors } from './diagnostics.ts';
import type { Diagnostic, DiagnosticSink } from './diagnostics.ts';
import { PLAN_FORMAT } from './plan.ts';
import type { BlockConfig, Plan, PlanLimits, VariableConfig } from './plan.ts';
import { retryPolicy } from './retry.ts';
import { findStarts } from './starts.ts';
import { runnableTypes, typeTable } from './types.ts';
import type { BlockTypeInfo } from './types.ts';
import { buildNames } from '../refs/names.ts';
import type { NamedBlock } from '../refs/names.ts';
import type { HostFeature } from '../ports.ts';
import { coerceAtStart, coerceOnRead } from '../schema/coerce.ts';
import { isContainerType } from '../schema/read-block.ts';
import type { Block, Variable, Workflow } from '../schema/workflow.ts';

/** Options of a compilation. All have defaults. */
export interface CompileOptions {
  /**
   * True: accepts what older engines accept. Such errors become warnings, and the workflow behaves as in those engines.
   */
  compat?: boolean;
  limits?: Partial<PlanLimits>;
  /** Types of registered executors. They override known types. */
  blockTypes?: readonly BlockTypeInfo[];
  /** Further properties of known types, for checks without registered executors. */
  knownTypes?: readonly BlockTypeInfo[];
  /** The data that the host provides for blocks. Default: none. */
  features?: readonly HostFeature[];
  /** Trigger types that the host fires. Absent: triggers are not checked. */
  triggers?: readonly TriggerInfo[];
}

/** A plan with its warnings, or all diagnostics of a workflow with errors. */
export type CompileResult =
  | { ok: true; plan: Plan; diagnostics: Diagnostic[] }
  | { ok: false; diagnostics: Diagnostic[] };

const DEFAULT_LIMITS: PlanLimits = {
  deadline: 'total',
  graceMs: 5000,
  maxLoopTurns: 100_000,
  maxParallelBranches: 10_000,
};

/**
 * Returns the plan of a workflow. The result does not depend on the key order of the input. Never throws for a parsed
 * workflow.
 */
export function compile(workflow: Workflow, options: CompileOptions = {}): CompileResult {
  const { plan, diagnostics } = analyze(workflow, options);
  return plan && !hasErrors(diagnostics) ? { ok: true, plan, diagnostics } : { ok: false, diagnostics };
}

/** Returns all diagnostics of a workflow. `compile` refuses the workflow if one of them is an error. */
export function checkWorkflow(workflow: Workflow, options: CompileOptions = {}): Diagnostic[] {
  return analyze(workflow, options).diagnostics;
}

function analyze(source: Workflow, options: CompileOptions): { plan?: Plan; diagnostics: Diagnostic[] } {
  const sink = new DiagnosticList();
  const compilation = createCompilation(source, options, sink);
  const { structure, workflow } = compilation;
  const starts = findStarts(
    structure.containedBlocks,
    workflow.blocks.map(({ id }) => id),
    sink,
  );
  const blocks = new Map<string, BlockConfig>();
  const settings = new Map<string, NodeSettings>();
  for (const id of [...structure.runnableIds].toSorted()) {
    const containedBlock = structure.containedBlocks.get(id) as ContainedBlock;
    const { block } = containedBlock;
    const container = isContainerType(block.type) ? readContainer(compilation, block) : undefined;
    const retry = retryPolicy(block, workflow.dialect, sink);
    const timeoutMs = readTimeout(block, sink);
    settings.set(id, {
      ...(retry && { retry }),
      ...(timeoutMs !== undefined && { timeoutMs }),
      ...(container && { subflow: container.subflow }),
    });
    const config = configureBlock(compilation, containedBlock);
    blocks.set(id, container ? { ...config, container: container.config } : config);
  }
  runChecks(compilation, starts, blocks);
  checkTriggers(compilation, starts, options.triggers);
  const [start] = starts;
  if (start === undefined || sink.hasErrors) return { diagnostics: sink.allSorted() };
  const skeleton = buildSkeleton(compilation, settings);
  return { plan: buildPlan(compilation, { start, skeleton, blocks }), diagnostics: sink.allSorted() };
}

function buildPlan(
  { workflow, compat, limits }: Compilation,
  { start, skeleton, blocks }: { start: string; skeleton: Region; blocks: ReadonlyMap<string, BlockConfig> },
): Plan {
  const { id, name, description } = workflow;
  const body: Omit<Plan, 'hash'> = {
    // Ordered keys, because canonical JSON is fastest for ordered objects.
    blocks: Object.fromEntries(blocks),
    compat,
    format: PLAN_FORMAT,
    limits,
    machine: MACHINE_VERSION,
    skeleton,
    start,
    variables: compileVariables(workflow.variables),
    workflow: { id, name, ...(description !== undefined && { description }) },
  };
  return { ...body, hash: contentHash(body as unknown as Json) };
}

function createCompilation(source: Workflow, options: CompileOptions, sink: DiagnosticList): Compilation {
  const workflow = sortWorkflow(source);
  const { compat = false, limits = {} } = options;
  const types = typeTable([...(options.knownTypes ?? []), ...(options.blockTypes ?? [])]);
  const ports = new Map([...types.values()].map(({ type, ports = [] }) => [type, ports]));
  const structure = buildStructure(workflow, { compat, ports }, sink);
  const names = buildNames(namedBlocks(structure.containedBlocks), workflow.variables);
  return new Compilation({
    workflow,
    structure,
    names,
    types,
    runnableTypes: runnableTypes(options.blockTypes),
    features: new Set(options.features),
    compat,
    sink,
    limits: { ...DEFAULT_LIMITS, ...limits },
  });
}

/** Returns the blocks ordered by id, so that the choice between equal names does not depend on the order of keys. */
function namedBlocks(containedBlocks: ContainedBlocks): NamedBlock[] {
  return [...containedBlocks.values()]
    .toSorted((a, b) => (a.block.id < b.block.id ? -1 : 1))
    .map((containedBlock) => {
      const { id, name, type, enabled } = containedBlock.block;
      const parentId = parentOf(containedBlock);
      return { id, name, type, enabled, ...(parentId !== undefined && { parentId }) };
    });
}

/** Runs the checks of the workflow as a whole and adds their diagnostics to the compilation. */
function runChecks(
  compilation: Compilation,
  starts: readonly string[],
  blocks: ReadonlyMap<string, BlockConfig>,
): void {
  checkStartFields(compilation, starts);
  checkNames(compilation);
  checkBlocks(compilation, blocks);
  checkJsonFields(compilation, blocks);
  const reachedIds = findReachableIds(compilation.structure, starts);
  checkReachability(compilation, reachedIds);
  checkReferences(compilation, reachedIds, blocks);
}

/** Returns the variables of a plan, by id, with their values at the start of a run. */
function compileVariables(variables: readonly Variable[]): VariableConfig[] {
  return variables
    .map(({ id, name, type, value }) => ({
      id,
      name,
      type,
      value: coerceOnRead(type, coerceAtStart(type, value)),
    }))
    .toSorted((a, b) => (a.id < b.id ? -1 : 1));
}

/** Returns the block's timeout for one attempt in milliseconds; undefined if it has none. */
export function readTimeout(block: Block, sink: DiagnosticSink): number | undefined {
  const { timeoutMs } = block;
  if (timeoutMs === undefined) return undefined;
  if (typeof timeoutMs === 'number' && timeoutMs >= 1) return Math.floor(timeoutMs);
  sink.push(
    diagnostic('TIMEOUT_INVALID', {
      blockId: block.id,
      path: ['blocks', block.id, 'timeoutMs'],
      message: `timeoutMs of "${block.name}" is ${JSON.stringify(timeoutMs)}, which is not a valid timeout.`,
      hint: 'Use a positive number of milliseconds, or remove the timeout.',
    }),
  );
  return undefined;
}

/**
 * Returns the workflow with the keys of all authored objects in code-unit order. Blocks keep the order of the file.
 *
 * JSON objects are unordered: files that differ only in key order compile to the same plan.
 */
function sortWorkflow(workflow: Workflow): Workflow {
  return {
    ...workflow,
    blocks: workflow.blocks.map(sortBlock),
    variables: workflow.variables
      .map((variable) => ({ ...variable, value: sortKeys(variable.value) }))
      .toSorted((a, b) => (a.id < b.id ? -1 : 1)),
    storedContainers: workflow.storedContainers
      .map((entry) => ({ ...entry, settings: sortObject(entry.settings) }))
      .toSorted((a, b) => (`${a.kind} ${a.id}` < `${b.kind} ${b.id}` ? -1 : 1)),
  };
}

function sortBlock(block: Block): Block {
  const { fields, containerSettings, outputs, retry, timeoutMs } = block;
  return {
    ...block,
    fields: sortObject(fields),
    containerSettings: sortObject(containerSettings),
    outputs: sortObject(outputs),
    ...(retry !== undefined && { retry: sortKeys(retry) }),
    ...(timeoutMs !== undefined && { timeoutMs: sortKeys(timeoutMs) }),
  };
}

function sortKeys(value: Json): Json {
  if (Array.isArray(value)) return value.map(sortKeys);
  return typeof value === 'object' && value !== null ? sortObject(value) : value;
}

function sortObject(object: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.keys(object)
      .toSorted()
      .map((key) => [key, sortKeys(object[key] as Json)]),
  );
}
