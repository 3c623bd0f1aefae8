import type { Structure } from '../../graph/structure.ts';
import { diagnostic } from '../codes.ts';
import type { Compilation } from '../compilation.ts';

/** Blocks that no start leads to; of a workflow without starts nothing is said. */
export function checkReach({ structure, found }: Compilation, reached: ReadonlySet<string>): void {
  if (reached.size === 0) return;
  for (const [id, { block, enabled, containers }] of structure.places) {
    const container = containers.at(-1);
    const lost =
      container === undefined
        ? !reached.has(id)
        : structure.members.has(container) && !structure.members.has(id);
    if (!enabled || !lost) continue;
    found.push(
      diagnostic('BLOCK_UNREACHABLE', {
        blockId: id,
        path: ['blocks', id],
        message: `No path leads ${container === undefined ? 'from a start' : 'from its container'} to "${block.name}", so it never runs.`,
        hint: 'Draw an edge to it, disable it, or remove it.',
      }),
    );
  }
}

/** Top-level blocks that a path of wired edges from one of `starts` leads to, these included. */
export function reachedFrom(structure: Structure, starts: readonly string[]): ReadonlySet<string> {
  const reached = new Set(starts);
  for (const id of reached) for (const { target } of structure.outOf.get(id) ?? []) reached.add(target);
  return reached;
}
