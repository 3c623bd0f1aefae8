import type { Json } from '../json.ts';
import type { Transition } from '../machine/command.ts';
import type { Address } from '../machine/event.ts';
import type { PlanIndex, IndexedNode } from '../plan/index-plan.ts';
import type { Plan } from '../plan/plan.ts';
import type { BlockFailure, Entry, Place } from './entry.ts';
import { restoreScope } from './saved-scope.ts';
import { newBranchScope, scopeOf } from './scope.ts';
import type { BranchScope } from './scope.ts';
import type { StoredValue } from './stored-value.ts';

/**
 * The data of a run: outputs by block and branch, results of containers, variables, the run's output.
 *
 * Like the machine, it is a fold over the journal without clock or I/O. All order comes from the journal.
 */
export class Ledger {
  readonly root: BranchScope = newBranchScope(undefined);
  readonly variables = new Map<string, Json>();
  /** Unhandled failures of blocks, by `placeKey`. */
  readonly failures = new Map<string, BlockFailure>();
  /** The most recent failure. */
  latestFailure: BlockFailure = { code: 'BLOCK_FAILED', message: 'A block failed.', retryable: false };
  input: StoredValue = { v: null };
  /**
   * The output of the first Response, else of the terminal or run-until block that finished last (R37 in
   * docs/semantics.md).
   */
  output: StoredValue | undefined;
  /** The values that replace fields of the start block, and the `placeKey` of that block. */
  #fieldOverrides: { placeKey: string; values: StoredValue } | undefined;
  #hasResponse = false;
  #untilBlockId: string | undefined;
  #order = 0;
  readonly #plan: Plan;
  readonly #index: PlanIndex;
  readonly #lastErrors = new Map<string, BlockFailure>();
  /** Outputs that wait blocks get when their timers fire. */
  readonly #waitOutputs = new Map<string, StoredValue>();
  /**
   * Containers in which the run starts, by `placeKey`, with the iteration or branch. Their data is restored, not
   * created.
   */
  readonly #restoredFrames = new Map<string, number>();
  /**
   * Answers of people to blocks that have not ended, by `placeKey`. A pause that continues its block creates the list.
   */
  readonly #answers = new Map<string, StoredValue[]>();

  constructor(plan: Plan, index: PlanIndex) {
    this.#plan = plan;
    this.#index = index;
    for (const variable of plan.variables) this.variables.set(variable.id, variable.value);
  }

  /** Returns the scope in which the block at `place` reads and writes. */
  scopeAt(place: Place): BranchScope | undefined {
    const indexedNode = this.#index.byId(place.block);
    return indexedNode && scopeOf(this.root, indexedNode, place.scope);
  }

  /**
   * Records the data of an entry that the machine accepted. The transitions that follow from it are applied separately.
   */
  applyEntry(entry: Entry): void {
    if (entry.type === 'completed' || entry.type === 'resumed') this.#complete(entry);
    else if (entry.type === 'started') this.#begin(entry);
    else if (entry.type === 'failed') this.#lastErrors.set(placeKey(entry), entry.error);
    else if (entry.type === 'expanded') this.#setItems(entry, entry.items);
    else if (entry.type === 'paused') this.#pause(entry);
    else if (entry.type === 'fired' && entry.timer === 'wait') this.#completeWait(entry as Entry & Place);
  }

  #pause(entry: Extract<Entry, { type: 'paused' }>): void {
    const key = placeKey(entry);
    if (!entry.continues) {
      this.#writeAt(entry, entry.output);
      if (entry.done) this.#waitOutputs.set(key, entry.done);
    } else if (!this.#answers.has(key)) this.#answers.set(key, []);
  }

  #begin(entry: Extract<Entry, { type: 'started' }>): void {
    this.input = entry.input;
    this.#untilBlockId = entry.until;
    for (const [id, value] of Object.entries(entry.variables)) this.variables.set(id, value);
    for (const [block, value] of Object.entries(entry.reused?.outputs ?? {}))
      this.#write(this.root, block, value);
    if (entry.reused) this.#reuse(entry.start, entry.reused);
  }

  #reuse(
    start: string,
    { fields, inside }: NonNullable<Extract<Entry, { type: 'started' }>['reused']>,
  ): void {
    const scope = inside?.frames.map(({ iteration }) => iteration) ?? [];
    if (fields) this.#fieldOverrides = { placeKey: placeKey({ block: start, scope }), values: fields };
    if (!inside) return;
    this.#order = restoreScope(this.root, inside.scope, this.#order);
    const containers = this.#index.byId(start)?.containerIds ?? [];
    for (const [depth, block] of containers.entries())
      this.#restoredFrames.set(placeKey({ block, scope: scope.slice(0, depth) }), scope[depth] ?? 0);
  }

  #complete(entry: Extract<Entry, { type: 'completed' | 'resumed' }>): void {
    const answers = entry.type === 'resumed' ? this.#answers.get(placeKey(entry)) : undefined;
    if (answers) return void answers.push(entry.output);
    this.#settle(entry, entry.output);
    if (entry.type !== 'completed' || !entry.set) return;
    for (const [id, value] of Object.entries(entry.set)) this.variables.set(id, value);
  }

  #completeWait(place: Place): void {
    const output = this.#waitOutputs.get(placeKey(place));
    this.#waitOutputs.delete(placeKey(place));
    if (output) this.#settle(place, output);
  }

  /**
   * Returns the object whose values replace resolved fields of the block at `place`; undefined if none are replaced.
   */
  fieldOverridesAt(place: Place): StoredValue | undefined {
    return this.#fieldOverrides && this.#fieldOverrides.placeKey === placeKey(place)
      ? this.#fieldOverrides.values
      : undefined;
  }

  /** Returns the answers of people to the pauses of the block at `place`, which has not ended, oldest first (R46). */
  answersAt(place: Place): readonly StoredValue[] {
    return this.#answers.get(placeKey(place)) ?? [];
  }

  /** Applies a structural change at the node of `place`. */
  applyTransition(transition: Transition, place: Place): void {
    if (transition.type === 'opened') this.#open(place, transition.iteration);
    else if (transition.type === 'closed') this.#close(place, transition.iteration, transition.failed);
    else if (transition.type === 'entered') this.#enter(place);
    else if (transition.type === 'exited') this.#exit(place, transition.count);
    else this.#fail(place, transition);
  }

  /**
   * Returns the reason why the node at `place` failed: a failure inside it, a limit, its timeout, or its own last
   * error.
   */
  #failureAt(place: Place, transition: Extract<Transition, { type: 'failed' }>): BlockFailure {
    const name = this.#plan.blocks[place.block]?.name ?? place.block;
    if (transition.cause) return this.failureOf(transition.cause);
    if (transition.limit !== undefined) return limitFailure(name, this.#isParallel(place), transition.limit);
    if (transition.timedOut) {
      const timeoutMs = this.#index.node(transition.at).timeoutMs;
      const message = `Block "${name}" took longer than its timeout of ${timeoutMs} ms.`;
      return { code: 'BLOCK_TIMEOUT', message, retryable: true };
    }
    const error = this.#lastErrors.get(placeKey(place));
    return error ?? { code: 'BLOCK_FAILED', message: `Block "${name}" failed.`, retryable: false };
  }

  failureOf(at: Address): BlockFailure {
    const place = this.#index.placeOf(at);
    return (
      this.failures.get(placeKey(place)) ?? {
        code: 'BLOCK_FAILED',
        message: 'A block failed.',
        retryable: false,
      }
    );
  }

  #fail(place: Place, transition: Extract<Transition, { type: 'failed' }>): void {
    const failure = this.#failureAt(place, transition);
    this.latestFailure = failure;
    // A failure is kept until something handles it. Afterwards only its message remains, as an output.
    if (!transition.handled) this.failures.set(placeKey(place), failure);
    else if (transition.cause) this.failures.delete(placeKey(this.#index.placeOf(transition.cause)));
    this.#lastErrors.delete(placeKey(place));
    this.#forgetAnswers(place);
    const output: StoredValue = { v: { error: failure.message } };
    const scope = this.scopeAt(place);
    if (scope) this.#write(scope, place.block, output, true);
    this.#append(this.#nodeOf(place), scope, output);
  }

  #enter(place: Place): void {
    if (this.#restoredFrames.size > 0 && this.#restoredFrames.has(placeKey(place))) return;
    const scope = this.scopeAt(place);
    const config = this.#plan.blocks[place.block]?.container;
    const staticItems =
      config && 'collection' in config && 'static' in config.collection
        ? config.collection.static
        : undefined;
    const items: StoredValue | undefined = staticItems && { v: staticItems };
    if (this.#isParallel(place)) {
      scope?.parallels.set(place.block, { items, branches: new Map(), results: [] });
    } else scope?.loops.set(place.block, { index: 0, items, current: [], results: [] });
  }

  #setItems(place: Place, items: StoredValue | undefined): void {
    if (!items) return;
    const scope = this.scopeAt(place);
    const container = scope?.loops.get(place.block) ?? scope?.parallels.get(place.block);
    if (container) container.items = items;
  }

  #open(place: Place, iteration: number): void {
    if (this.#takeRestoredFrame(place, iteration)) return;
    const scope = this.scopeAt(place);
    const loop = scope?.loops.get(place.block);
    if (loop) loop.index = iteration;
    else scope?.parallels.get(place.block)?.branches.set(iteration, newBranchScope(scope));
  }

  /** Returns true once for a frame in which the run starts, whose data is restored. */
  #takeRestoredFrame(place: Place, iteration: number): boolean {
    if (this.#restoredFrames.size === 0) return false;
    if (this.#restoredFrames.get(placeKey(place)) !== iteration) return false;
    return this.#restoredFrames.delete(placeKey(place));
  }

  /** An iteration without outputs adds nothing to the results. A branch always adds a list, even an empty one (R36). */
  #close(place: Place, iteration: number, failed: Address | undefined): void {
    const scope = this.scopeAt(place);
    const loop = scope?.loops.get(place.block);
    if (loop) {
      if (loop.current.length > 0) loop.results.push(loop.current);
      loop.current = [];
      return;
    }
    const parallel = scope?.parallels.get(place.block);
    const branch = parallel?.branches.get(iteration);
    if (!parallel || !branch) return;
    parallel.results[iteration] = failed ? [this.#collectFailure(failed)] : branch.current;
    branch.current = [];
    // Only branch 0 can be read from outside. Outputs of other branches remain only in the results.
    if (iteration > 0) parallel.branches.delete(iteration);
  }

  /** Returns the result of a branch whose failure the parallel collects. */
  #collectFailure(cause: Address): StoredValue {
    const { message } = this.failureOf(cause);
    this.failures.delete(placeKey(this.#index.placeOf(cause)));
    return { v: { error: message } };
  }

  #exit(place: Place, count: number): void {
    const scope = this.scopeAt(place);
    const container = scope?.loops.get(place.block) ?? scope?.parallels.get(place.block);
    const results = container?.results ?? [];
    const control: { [name: string]: Json } = this.#isParallel(place)
      ? { sentinelEnd: true, selectedRoute: 'parallel_exit', totalBranches: count }
      : { shouldContinue: false, shouldExit: true, selectedRoute: 'loop_exit', totalIterations: count };
    this.#settle(place, { results, control });
  }

  /** Records a block's success: its output, its part of the container's results, and possibly the run's output. */
  #settle(place: Place, output: StoredValue): void {
    const indexedNode = this.#nodeOf(place);
    const scope = scopeOf(this.root, indexedNode, place.scope);
    if (scope) this.#write(scope, place.block, output);
    this.#append(indexedNode, scope, output);
    if (this.#lastErrors.size > 0) this.#lastErrors.delete(placeKey(place));
    this.#forgetAnswers(place);
    if (this.#hasResponse) return;
    const { answers, terminal } = indexedNode.node;
    if (answers) this.#hasResponse = true;
    if (answers || terminal || place.block === this.#untilBlockId) this.output = output;
  }

  #forgetAnswers(place: Place): void {
    if (this.#answers.size > 0) this.#answers.delete(placeKey(place));
  }

  #append({ containers }: IndexedNode, scope: BranchScope | undefined, output: StoredValue): void {
    const container = containers.at(-1);
    if (!container) return;
    if (container.kind === 'parallel') scope?.current.push(output);
    else scope?.loops.get(container.id)?.current.push(output);
  }

  #writeAt(place: Place, output: StoredValue): void {
    const scope = this.scopeAt(place);
    if (scope) this.#write(scope, place.block, output);
  }

  #write(scope: BranchScope, block: string, value: StoredValue, failed = false): void {
    scope.outputs.set(block, { value, failed, order: ++this.#order });
  }

  #nodeOf(place: Place): IndexedNode {
    return this.#index.byId(place.block) as IndexedNode;
  }

  #isParallel(place: Place): boolean {
    return this.#nodeOf(place).node.kind === 'parallel';
  }
}

function limitFailure(name: string, isParallel: boolean, limit: number): BlockFailure {
  const isLoop = !isParallel;
  const excess = isLoop ? `has more than ${limit} iterations` : `has more than ${limit} branches`;
  const option = isLoop ? 'limits.maxLoopTurns' : 'limits.maxParallelBranches';
  const message = `${isLoop ? 'Loop' : 'Parallel'} "${name}" ${excess}. Raise ${option} if this is intended.`;
  return { code: isLoop ? 'LOOP_LIMIT' : 'BRANCH_LIMIT', message, retryable: false };
}

/** Returns the map key of a place: block id and the iteration and branch numbers around it. */
export function placeKey({ block, scope }: Place): string {
  if (scope.length === 0) return block;
  // Fast path for the common depth of one: joining an array of one takes twice as long.
  return `${block}@${scope.length === 1 ? scope[0] : scope.join('.')}`;
}
