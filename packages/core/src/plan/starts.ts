import type { ContainedBlock, ContainedBlocks } from '../graph/containment.ts';
import { diagnostic } from './diagnostics.ts';
import type { DiagnosticSink } from './diagnostics.ts';
import type { Plan } from './plan.ts';
import { isTriggerType, triggerRank } from './types.ts';

/** Returns the ids of the enabled top-level triggers, the default start first, equally suitable ones in file order. */
export function findStarts(
  containedBlocks: ContainedBlocks,
  fileOrder: readonly string[],
  sink: DiagnosticSink,
): string[] {
  const rank = ({ block }: ContainedBlock): number => rankOf(block.type);
  const triggers = fileOrder
    .flatMap((id) => containedBlocks.get(id) ?? [])
    .filter(
      ({ block, enabled, containers }) =>
        enabled && containers.length === 0 && (block.trigger || isTriggerType(block.type)),
    )
    .toSorted((a, b) => compareRanks(rank(a), rank(b)));
  const [first, second] = triggers;
  if (!first) {
    sink.push(
      diagnostic('START_MISSING', {
        path: ['blocks'],
        message: 'No enabled block at the top level can start a run.',
        hint: 'Add a start block, or enable the existing one.',
      }),
    );
  } else if (second && rank(first) === rank(second)) {
    sink.push(
      diagnostic('START_AMBIGUOUS', {
        blockId: first.block.id,
        path: ['blocks'],
        message: `Both "${first.block.name}" and "${second.block.name}" can be the default start; "${first.block.name}" is used.`,
        hint: 'Choose the start of each run, or remove one of them.',
      }),
    );
  }
  return triggers.map(({ block }) => block.id);
}

/** Returns the ids of the blocks at which a run of the plan can start, the default start first. */
export function startCandidates(plan: Plan): string[] {
  const otherTriggers = plan.skeleton.nodes
    .map(({ id }) => plan.blocks[id])
    .filter((block) => block !== undefined)
    .filter(({ id, trigger }) => trigger && id !== plan.start)
    .toSorted((a, b) => compareRanks(rankOf(a.type), rankOf(b.type)));
  return [plan.start, ...otherTriggers.map(({ id }) => id)];
}

/** Returns the rank of a block as a start. Blocks of other types, in trigger mode, come after all triggers. */
function rankOf(type: string): number {
  return isTriggerType(type) ? triggerRank(type) : Infinity;
}

/** Two infinite ranks are equal: `|| 0` replaces their difference, which is NaN. */
const compareRanks = (a: number, b: number): number => a - b || 0;
