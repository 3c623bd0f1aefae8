import type { SavedScope } from './entry.ts';
import { newBranchScope } from './scope.ts';
import type { BranchScope, LoopScope, ParallelScope } from './scope.ts';
import type { StoredValue } from './stored-value.ts';

/** Returns a scope as JSON. */
export function toSavedScope({ outputs, loops, parallels, current }: BranchScope): SavedScope {
  const ids = new Map([...outputs].map(([block, { value }]) => [value, block]));
  const idsOf = (values: readonly StoredValue[]): string[] => values.flatMap((value) => ids.get(value) ?? []);
  return {
    outputs: [...outputs].map(([block, { value, order, failed }]) => ({
      ...{ block, value, order },
      ...(failed && { failed }),
    })),
    loops: [...loops].map(([block, { items, ...loop }]) => ({
      ...{ block, ...loop, current: idsOf(loop.current) },
      ...(items && { items }),
    })),
    parallels: [...parallels].map(([block, parallel]) => toSavedParallel(block, parallel)),
    current: idsOf(current),
  };
}

function toSavedParallel(
  block: string,
  { items, results, branches }: ParallelScope,
): SavedScope['parallels'][number] {
  return {
    block,
    ...(items && { items }),
    // Branches that have not run are holes in the array.
    results: Object.entries(results).map(([branch, outputs]) => ({ branch: Number(branch), outputs })),
    branches: [...branches].map(([branch, scope]) => ({ branch, scope: toSavedScope(scope) })),
  };
}

/**
 * Adds a saved scope to `target`, with its outputs ordered after the position `order`. Returns the position of the last
 * output.
 */
export function restoreScope(target: BranchScope, savedScope: SavedScope, order: number): number {
  let lastOrder = order;
  for (const { block, value, failed = false, order: savedOrder } of savedScope.outputs) {
    target.outputs.set(block, { value, failed, order: order + savedOrder });
    lastOrder = Math.max(lastOrder, order + savedOrder);
  }
  for (const loop of savedScope.loops) target.loops.set(loop.block, restoreLoop(target, loop));
  for (const { block, items, results, branches } of savedScope.parallels) {
    const parallel: ParallelScope = { items, branches: new Map(), results: [] };
    for (const { branch, outputs } of results) parallel.results[branch] = [...outputs];
    for (const { branch, scope } of branches) {
      const branchScope = newBranchScope(target);
      parallel.branches.set(branch, branchScope);
      lastOrder = Math.max(lastOrder, restoreScope(branchScope, scope, order));
    }
    target.parallels.set(block, parallel);
  }
  target.current = valuesOf(target, savedScope.current);
  return lastOrder;
}

function restoreLoop(
  scope: BranchScope,
  { index, items, current, results }: SavedScope['loops'][number],
): LoopScope {
  return { index, items, current: valuesOf(scope, current), results: [...results] };
}

function valuesOf({ outputs }: BranchScope, blocks: readonly string[]): StoredValue[] {
  return blocks.flatMap((block) => outputs.get(block)?.value ?? []);
}
