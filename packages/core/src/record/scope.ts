import type { Node } from '../machine/skeleton.ts';
import type { IndexedNode } from '../plan/index-plan.ts';
import type { StoredValue } from './stored-value.ts';

/** The latest output of a block in one scope. */
export interface Output {
  value: StoredValue;
  failed: boolean;
  /** Position in the run's order of completions. It determines which of several sources ended last. */
  order: number;
}

/**
 * The state of an open loop. All iterations share one scope, so an iteration sees outputs of earlier ones (R34 in
 * docs/semantics.md).
 */
export interface LoopScope {
  index: number;
  items: StoredValue | undefined;
  /** Outputs of the blocks that ran in the open iteration, in order of completion. */
  current: StoredValue[];
  results: StoredValue[][];
}

/** The state of an open parallel. Each branch has its own scope (R35 in docs/semantics.md). */
export interface ParallelScope {
  items: StoredValue | undefined;
  branches: Map<number, BranchScope>;
  results: StoredValue[][];
}

/** A scope of outputs: the run itself, or one branch of a parallel. */
export interface BranchScope {
  parent: BranchScope | undefined;
  outputs: Map<string, Output>;
  loops: Map<string, LoopScope>;
  parallels: Map<string, ParallelScope>;
  /** Only for branches: outputs of the blocks directly in the branch, in order of completion. */
  current: StoredValue[];
}

export function newBranchScope(parent: BranchScope | undefined): BranchScope {
  return { parent, outputs: new Map(), loops: new Map(), parallels: new Map(), current: [] };
}

/**
 * Returns the scope in which a block writes its output at the iteration and branch numbers `iterations`; undefined if
 * that scope is closed.
 */
export function scopeOf(
  root: BranchScope,
  { containers, parallelIds }: IndexedNode,
  iterations: readonly number[],
): BranchScope | undefined {
  let innermostScope: BranchScope | undefined = root;
  if (parallelIds.length === 0) return innermostScope;
  for (let depth = 0; innermostScope && depth < containers.length; depth++) {
    const { id, kind } = containers[depth] as Node;
    if (kind === 'parallel')
      innermostScope = innermostScope.parallels.get(id)?.branches.get(iterations[depth] as number);
  }
  return innermostScope;
}

/**
 * Returns the scope that a reference addresses: `levels` branches out from `start`, then into branch 0 of each of
 * `parallels`.
 */
export function scopeFrom(
  start: BranchScope,
  levels: number,
  parallels: readonly string[],
): BranchScope | undefined {
  let target: BranchScope | undefined = start;
  for (let level = 0; target && level < levels; level++) target = target.parent;
  for (const id of parallels) target = target?.parallels.get(id)?.branches.get(0);
  return target;
}
