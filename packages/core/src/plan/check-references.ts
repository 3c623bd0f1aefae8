import { append } from '../graph/multimap.ts';
import type { Multimap } from '../graph/multimap.ts';
import type { Structure } from '../graph/structure.ts';
import type { Compilation, CompiledReference, FieldPosition } from './compilation.ts';
import { diagnostic } from './diagnostics.ts';
import type { DiagnosticCode, DiagnosticDetails } from './diagnostics.ts';
import type { BlockConfig } from './plan.ts';
import { isReserved, normalizeName } from '../refs/names.ts';
import { SimilarNames } from '../refs/similar-names.ts';
import type { Reference } from '../refs/template.ts';
import type { Block } from '../schema/workflow.ts';

/** Reports names that references cannot use or cannot distinguish. */
export function checkNames(compilation: Compilation): void {
  const blocksByName: Multimap<Block> = new Map();
  for (const { block, enabled } of compilation.structure.containedBlocks.values()) {
    const normalizedName = normalizeName(block.name);
    if (isReserved(block.name)) {
      const message = `The block name "${block.name}" is reserved: <${normalizedName}…> has another meaning in references.`;
      if (enabled)
        reportName(compilation, block, { code: 'NAME_RESERVED', message, hint: 'Rename the block.' });
      continue;
    }
    if (normalizedName === '' || /[<>+*/=!]/.test(normalizedName)) {
      const message = `The name "${block.name}" cannot be written in a reference.`;
      const hint = 'Use letters, digits, spaces, hyphens or underscores.';
      reportName(compilation, block, { code: 'NAME_UNUSABLE', message, hint });
    }
    append(blocksByName, normalizedName, block);
  }
  for (const [normalizedName, blocks] of blocksByName) checkEqualNames(compilation, normalizedName, blocks);
  checkVariables(compilation);
}

function checkEqualNames(compilation: Compilation, normalizedName: string, blocks: readonly Block[]): void {
  const namedBlock = compilation.names.blockByName.get(normalizedName);
  for (const block of blocks) {
    if (!namedBlock || block.id === namedBlock.id) continue;
    const message = `"${block.name}" and "${namedBlock.name}" are the same name in references; <${normalizedName}> means block ${namedBlock.id}.`;
    reportName(compilation, block, { code: 'NAME_DUPLICATE', message, hint: 'Rename one of them.' });
  }
}

function checkVariables({ workflow, names, sink }: Compilation): void {
  for (const { id, name } of workflow.variables) {
    const normalizedName = normalizeName(name);
    const namedVariable = names.variableByName.get(normalizedName);
    if (!namedVariable || namedVariable.id === id) continue;
    const message = `The variables "${name}" and "${namedVariable.name}" have the same name in references; <variable.${normalizedName}> means variable ${namedVariable.id}.`;
    const path = ['variables', id, 'name'];
    sink.push(diagnostic('NAME_DUPLICATE', { path, message, hint: 'Rename one of them.' }));
  }
}

function reportName(
  { sink }: Compilation,
  block: Block,
  { code, ...text }: { code: DiagnosticCode; message: string; hint: string },
): void {
  sink.push(diagnostic(code, { blockId: block.id, path: ['blocks', block.id, 'name'], ...text }));
}

/** Reports references that never have a value, once per field. */
export function checkReferences(
  compilation: Compilation,
  reachedIds: ReadonlySet<string>,
  blocks: ReadonlyMap<string, BlockConfig>,
): void {
  if (compilation.references.length === 0) return;
  const context = { order: new RunOrder(compilation, reachedIds), blocks, outputs: new Map() };
  const reportedKeys = new Set<string>();
  for (const reference of compilation.references) {
    const key = JSON.stringify([reference.location.path, reference.ref.text]);
    if (reportedKeys.has(key)) continue;
    reportedKeys.add(key);
    if (reference.ref.kind === 'invalid')
      reportReference(compilation, 'REFERENCE_INVALID', reference, invalidPathDetails(reference.ref));
    else if (reference.ref.kind === 'block' || reference.ref.kind === 'results')
      checkTarget(compilation, reference, context);
  }
}

interface ReferenceContext {
  order: RunOrder;
  blocks: ReadonlyMap<string, BlockConfig>;
  /** Declared outputs by block, for the blocks that references use. */
  outputs: Map<string, DeclaredNames>;
}

interface DeclaredNames {
  names: SimilarNames;
  /** The names as text for a message, truncated. */
  list: string;
}

/** Maximum number of outputs in a hint. */
const MAX_LISTED_OUTPUTS = 12;

function checkTarget(
  compilation: Compilation,
  reference: CompiledReference,
  context: ReferenceContext,
): void {
  const { ref, location } = reference;
  const target = ref.kind === 'block' || ref.kind === 'results' ? ref.block : '';
  const reason = context.order.neverRanReason(location.block.id, target, reference.fieldPosition);
  if (reason !== undefined) {
    reportReference(compilation, 'REFERENCE_NEVER_RAN', reference, {
      message: `${ref.text} in "${location.block.name}" is always empty: ${reason}.`,
      hint: 'Read an earlier block, or move this one after it.',
    });
  } else if (ref.kind === 'block') checkOutput(compilation, reference, context);
}

/**
 * Blocks whose output has more fields than they declare: a condition adds its source's output, a pause the submitted
 * input.
 */
const OPEN_OUTPUT_TYPES = new Set(['condition', 'human_in_the_loop']);

/** Checks the first step of the path against the block's declared outputs. Triggers output their input. */
function checkOutput(
  compilation: Compilation,
  reference: CompiledReference,
  { blocks, outputs }: ReferenceContext,
): void {
  if (reference.ref.kind !== 'block') return;
  const [firstStep] = reference.ref.path;
  const target = blocks.get(reference.ref.block);
  if (!target?.outputs || target.trigger || OPEN_OUTPUT_TYPES.has(target.type)) return;
  if (typeof firstStep !== 'string' || firstStep === 'error') return;
  const { fields } = target.outputs;
  if (Object.hasOwn(fields, firstStep)) return;
  const declaredOutputs = outputs.get(target.id) ?? declaredNames(Object.keys(fields));
  outputs.set(target.id, declaredOutputs);
  const suggestion = declaredOutputs.names.findNearest(firstStep);
  reportReference(compilation, 'REFERENCE_UNDECLARED_OUTPUT', reference, {
    message: `${reference.ref.text} in "${reference.location.block.name}" names "${firstStep}", which "${target.name}" does not declare. If the output has no such field, the block fails.`,
    hint: suggestion ? `Did you mean "${suggestion.name}"?` : `Its outputs are ${declaredOutputs.list}.`,
  });
}

function declaredNames(names: readonly string[]): DeclaredNames {
  const omittedCount = names.length - MAX_LISTED_OUTPUTS;
  const firstNames = names.slice(0, MAX_LISTED_OUTPUTS).join(', ');
  const list = omittedCount > 0 ? `${firstNames} and ${omittedCount} more` : firstNames;
  return { names: new SimilarNames(names), list };
}

function invalidPathDetails(
  ref: Extract<Reference, { kind: 'invalid' }>,
): Pick<DiagnosticDetails, 'message' | 'hint'> {
  return { message: `${ref.message} The block fails when it is reached.`, hint: 'Correct the path.' };
}

function reportReference(
  { sink }: Compilation,
  code: 'REFERENCE_INVALID' | 'REFERENCE_NEVER_RAN' | 'REFERENCE_UNDECLARED_OUTPUT',
  { location }: CompiledReference,
  text: Pick<DiagnosticDetails, 'message' | 'hint'>,
): void {
  sink.push(diagnostic(code, { blockId: location.block.id, path: location.path, ...text }));
}

/** Maximum number of steps of all searches in one check, so that a hostile graph cannot make it quadratic. */
const MAX_STEPS = 1_000_000;

/** Decides whether a block can have run before another block reads its output. */
class RunOrder {
  readonly #structure: Structure;
  readonly #reachedIds: ReadonlySet<string>;
  readonly #positions = new Map<string, number>();
  readonly #reachableBlocks = new Map<string, ReadonlySet<string>>();
  #steps = 0;

  /** `reachedIds`: the top-level blocks that a start leads to. */
  constructor({ structure }: Compilation, reachedIds: ReadonlySet<string>) {
    this.#structure = structure;
    this.#reachedIds = reachedIds;
    for (const { order } of structure.regions.values())
      order.forEach((id, position) => this.#positions.set(id, position));
  }

  /**
   * Returns the reason why `target` can never have run when the referencing block reads it; undefined if `target` can
   * have run.
   */
  neverRanReason(blockId: string, target: string, fieldPosition: FieldPosition): string | undefined {
    const { containedBlocks, runnableIds } = this.#structure;
    const containedBlock = containedBlocks.get(target);
    // The reference compiler reports disabled blocks.
    if (!containedBlock?.enabled) return undefined;
    const { name } = containedBlock.block;
    const ownChain = this.#chain(blockId);
    const targetChain = this.#chain(target);
    if (!runnableIds.has(target) || this.#isOnlyTargetUnreached(ownChain, targetChain))
      return `no path leads to "${name}"`;
    const sharedLength = sharedDepth(ownChain, targetChain);
    const containerCount = Math.min(sharedLength, ownChain.length - 1, targetChain.length - 1);
    if (this.#isInLoop(ownChain.slice(0, containerCount))) return undefined;
    // The condition of a loop may read the blocks inside the loop.
    if (sharedLength === ownChain.length && fieldPosition === 'condition') return undefined;
    if (blockId === target) return 'it reads itself';
    if (sharedLength === ownChain.length) return `"${name}" runs inside it`;
    if (sharedLength === targetChain.length) return `"${name}" has not ended while it runs`;
    return this.#isAfter(ownChain[sharedLength] as string, targetChain[sharedLength] as string)
      ? `"${name}" runs after it`
      : undefined;
  }

  /** Returns true if a start leads to the referencing block, but none to the target. */
  #isOnlyTargetUnreached([blockId = '']: readonly string[], [target = '']: readonly string[]): boolean {
    return this.#reachedIds.has(blockId) && !this.#reachedIds.has(target);
  }

  /** Returns true if one of the containers is a loop, in which the value may be from an earlier iteration. */
  #isInLoop(containers: readonly string[]): boolean {
    return containers.some((id) => this.#structure.containedBlocks.get(id)?.block.type === 'loop');
  }

  /** Returns the ids of the containers around a block, outermost first, and of the block itself. */
  #chain(id: string): string[] {
    return [...(this.#structure.containedBlocks.get(id)?.containers ?? []), id];
  }

  /** Returns true if a path leads from `earlier` to `later`. False if the search has too many steps. */
  #isAfter(earlier: string, later: string): boolean {
    if ((this.#positions.get(later) ?? -1) < (this.#positions.get(earlier) ?? 0)) return false;
    let reachableBlocks = this.#reachableBlocks.get(earlier);
    if (!reachableBlocks) {
      reachableBlocks = this.#findReachableBlocks(earlier);
      this.#reachableBlocks.set(earlier, reachableBlocks);
    }
    return reachableBlocks.has(later);
  }

  #findReachableBlocks(from: string): ReadonlySet<string> {
    const reachableBlocks = new Set<string>([from]);
    for (const id of reachableBlocks) {
      for (const { target } of this.#structure.outgoingEdges.get(id) ?? []) {
        if (++this.#steps > MAX_STEPS) return new Set();
        reachableBlocks.add(target);
      }
    }
    return reachableBlocks;
  }
}

/** Returns the number of ids with which both chains begin. */
function sharedDepth(chainA: readonly string[], chainB: readonly string[]): number {
  const divergence = chainA.findIndex((id, depth) => id !== chainB[depth]);
  return divergence < 0 ? chainA.length : divergence;
}

/** Reports blocks that no start leads to. A workflow without starts has another diagnostic. */
export function checkReachability({ structure, sink }: Compilation, reachedIds: ReadonlySet<string>): void {
  if (reachedIds.size === 0) return;
  for (const [id, { block, enabled, containers }] of structure.containedBlocks) {
    const containerId = containers.at(-1);
    const isUnreachable =
      containerId === undefined
        ? !reachedIds.has(id)
        : structure.runnableIds.has(containerId) && !structure.runnableIds.has(id);
    if (!enabled || !isUnreachable) continue;
    sink.push(
      diagnostic('BLOCK_UNREACHABLE', {
        blockId: id,
        path: ['blocks', id],
        message: `No path leads ${containerId === undefined ? 'from a start' : 'from its container'} to "${block.name}", so it never runs.`,
        hint: 'Draw an edge to it, disable it, or remove it.',
      }),
    );
  }
}

/** Returns the top-level blocks reachable from `starts` by region edges, including `starts`. */
export function findReachableIds(structure: Structure, starts: readonly string[]): ReadonlySet<string> {
  const reachedIds = new Set(starts);
  for (const id of reachedIds)
    for (const { target } of structure.outgoingEdges.get(id) ?? []) reachedIds.add(target);
  return reachedIds;
}
