import { EngineError } from '@heddle/core';
import type { BlockConfig, Json, Plan } from '@heddle/core';
import type { Entry, Stored } from '@heddle/core/run';
import { findBlock } from './execution/plan-queries.ts';
import { foldJournal } from './records/fold.ts';

/** What a run takes over from an earlier run. */
export interface Reused {
  runId: string;
  outputs: { [blockId: string]: Stored };
  variables: { [id: string]: Json };
}

/**
 * Returns what a run that starts at `reference` takes over from an earlier run: the outputs of the top-level blocks that are
 * not downstream of the start, and the variables.
 *
 * Throws RUN_NOT_SETTLED if the earlier run has not ended, BLOCK_NOT_FOUND, and BLOCK_NOT_RESTARTABLE for a block inside a
 * container or one with a source block that has not run.
 */
export function reuse(
  plan: Plan,
  reference: string,
  source: { runId: string; plan: Plan; entries: readonly Entry[] },
): { start: string; reused: Reused } {
  const block = findBlock(plan, reference);
  const { replica } = foldJournal(source.runId, source.plan, source.entries);
  if (replica.idleState() !== 'ended') {
    throw new EngineError(
      'RUN_NOT_SETTLED',
      `Run ${source.runId} has not ended: wait for its end, or cancel it.`,
    );
  }
  const { outputs } = replica.ledger.root;
  const index = restartIndex(plan, block);
  if (!block.trigger)
    expectUpstream(plan, { block, index, runId: source.runId, ran: (id) => outputs.has(id) });
  const fresh = downstreamOf(plan, index);
  const kept = plan.skeleton.nodes.flatMap((node, at): [string, Stored][] => {
    const output = outputs.get(node.id);
    return output && !fresh.has(at) ? [[node.id, output.value]] : [];
  });
  const variables = plan.variables.map(({ id, value }): [string, Json] => [
    id,
    replica.ledger.variables.get(id) ?? value,
  ]);
  const reused = {
    runId: source.runId,
    outputs: Object.fromEntries(kept),
    variables: Object.fromEntries(variables),
  };
  return { start: block.id, reused };
}

/** Returns the index of the block among the top-level nodes. */
function restartIndex(plan: Plan, block: BlockConfig): number {
  const [outermost] = block.containers;
  if (outermost !== undefined) {
    throw refused(
      block.name,
      `it is inside the container "${plan.blocks[outermost]?.name}". Start at the container instead.`,
    );
  }
  const index = plan.skeleton.nodes.findIndex((node) => node.id === block.id);
  if (index < 0) throw refused(block.name, 'it is disabled.');
  return index;
}

/** Throws BLOCK_NOT_RESTARTABLE unless all source blocks have run. Triggers need not have run. */
function expectUpstream(
  plan: Plan,
  at: { block: BlockConfig; index: number; runId: string; ran: (id: string) => boolean },
): void {
  for (const edge of plan.skeleton.nodes[at.index]?.ins ?? []) {
    const before = plan.skeleton.nodes[edge.from]?.id ?? '';
    const config = plan.blocks[before];
    if (at.ran(before) || config?.trigger) continue;
    const why = `the block "${config?.name ?? before}", which leads to it, did not run in ${at.runId}. Start there, or further up.`;
    throw refused(at.block.name, why);
  }
}

function refused(name: string, why: string): EngineError {
  return new EngineError('BLOCK_NOT_RESTARTABLE', `A run cannot start at "${name}": ${why}`, {
    details: { block: name },
  });
}

/** Returns the indexes of the top-level blocks downstream of the block at `index`, including the block itself. */
function downstreamOf(plan: Plan, index: number): Set<number> {
  const reached = new Set([index]);
  for (const at of reached) for (const out of plan.skeleton.nodes[at]?.outs ?? []) reached.add(out);
  return reached;
}
