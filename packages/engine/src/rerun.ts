import { EngineError } from '@heddle/core';
import type { Json, Plan } from '@heddle/core';
import { Replica } from '@heddle/core/run';
import type { Entry, Stored } from '@heddle/core/run';
import { findBlock } from './local/plan-facts.ts';
import { downstreamOf } from './resource.ts';

export interface Reused {
  runId: string;
  outputs: { [blockId: string]: Stored };
  variables: { [id: string]: Json };
}

/**
 * What a run that starts at `reference` takes over from an earlier run (R-rules of run-from-block): the outputs of the
 * top-level blocks that are not downstream of it, and the variables.
 *
 * Throws BLOCK_NOT_FOUND; BLOCK_NOT_RESTARTABLE inside a container, and where a block that leads there had not run.
 */
export function reuse(
  plan: Plan,
  reference: string,
  source: { runId: string; plan: Plan; entries: readonly Entry[] },
): { start: string; reused: Reused } {
  const block = findBlock(plan, reference);
  const replica = new Replica(source.runId, source.plan);
  for (const entry of source.entries) replica.apply(entry);
  if (block.containers.length > 0) {
    const around = plan.blocks[block.containers[0] ?? '']?.name;
    throw refused(block.name, `it stands inside the container "${around}". Start at the container instead.`);
  }
  const index = plan.skeleton.nodes.findIndex((node) => node.id === block.id);
  if (index < 0) throw refused(block.name, 'it is disabled.');
  const { outputs } = replica.ledger.root;
  if (!block.trigger) {
    for (const edge of plan.skeleton.nodes[index]?.ins ?? []) {
      const before = plan.skeleton.nodes[edge.from]?.id ?? '';
      const config = plan.blocks[before];
      if (outputs.has(before) || config?.trigger) continue;
      throw refused(
        block.name,
        `the block "${config?.name ?? before}", which leads to it, did not run in ${source.runId}. Start there, or further up.`,
      );
    }
  }
  const fresh = downstreamOf(plan, index);
  const kept: [string, Stored][] = [];
  plan.skeleton.nodes.forEach((node, at) => {
    const output = outputs.get(node.id);
    if (output && !fresh.has(at)) kept.push([node.id, output.value]);
  });
  const known = new Set(plan.variables.map(({ id }) => id));
  const variables = [
    ...plan.variables.map(({ id, value }) => [id, value] as const),
    ...[...replica.ledger.variables].filter(([id]) => known.has(id)),
  ];
  return {
    start: block.id,
    reused: {
      runId: source.runId,
      outputs: Object.fromEntries(kept),
      variables: Object.fromEntries(variables),
    },
  };
}

function refused(name: string, why: string): EngineError {
  return new EngineError('BLOCK_NOT_RESTARTABLE', `A run cannot start at "${name}": ${why}`, {
    details: { block: name },
  });
}
