import { EngineError, isEngineError } from '@heddle/core';
import type { BlockConfig, Json, JsonObject, Plan } from '@heddle/core';
import { notRestartableError, collectReusedContainerData } from '@heddle/core/run';
import type { SourceRun, StoredValue } from '@heddle/core/run';
import { findBlock } from './execution/plan-queries.ts';
import { copyCallerJson } from './json-copy.ts';
import type { RestartEdits, RestartPreview } from './types.ts';

/** The data of an earlier run that a run reuses. */
export interface ReusedData {
  runId: string;
  outputs: { [blockId: string]: StoredValue };
  variables: { [id: string]: Json };
  /** The data of the containers around the start; absent: the start is at the top level. */
  inside?: ReturnType<typeof collectReusedContainerData>;
  /** Replacements for some of this data; outputs by block id. */
  edits?: RestartEdits;
}

/** The start of a run at a block. */
export interface Restart {
  edits?: RestartEdits | undefined;
  /** Numbers of the iterations or branches around the block, outermost first; absent: the block is at the top level. */
  iterations?: readonly number[] | undefined;
}

/**
 * Returns the data of an earlier run that a run from `block` reuses: the outputs of the top-level blocks that are
 * not downstream of the start, the variables, and for containers around the start the data of
 * `collectReusedContainerData`.
 *
 * Throws BLOCK_NOT_RESTARTABLE for a disabled block, a block with a source that has not run, and a block inside a
 * container without `iterations`; OPTIONS_INVALID for edits of data that the block does not use, for edits that are not
 * JSON, and for a wrong number of iterations; BLOCK_NOT_FOUND for an edit of an unknown block.
 */
export function collectReusedData(
  plan: Plan,
  block: BlockConfig,
  source: SourceRun,
  { edits = {}, iterations }: Restart = {},
): ReusedData {
  const { outputs } = source.ledger.root;
  const index = restartIndex(plan, block, iterations);
  if (!block.trigger)
    requireUpstreamRan(plan, { block, index, runId: source.runId, hasRun: (id) => outputs.has(id) });
  const rerunIndexes = downstreamOf(plan, index);
  const keptOutputs = plan.skeleton.nodes.flatMap((node, nodeIndex): [string, StoredValue][] => {
    const output = outputs.get(node.id);
    return output && !rerunIndexes.has(nodeIndex) ? [[node.id, output.value]] : [];
  });
  const outputsById = Object.fromEntries(keptOutputs);
  const isInside = iterations !== undefined && iterations.length + block.containers.length > 0;
  const containerData = isInside
    ? collectReusedContainerData({ plan, block, iterations }, source)
    : undefined;
  const isKept = (id: string): boolean =>
    Object.hasOwn(outputsById, id) || containerData?.blocks.has(id) === true;
  const sourceVariables = containerData?.variables ?? source.ledger.variables;
  return {
    runId: source.runId,
    outputs: outputsById,
    variables: Object.fromEntries(
      plan.variables.map(({ id, value }): [string, Json] => [id, sourceVariables.get(id) ?? value]),
    ),
    ...(containerData && { inside: containerData }),
    ...((edits.fields ?? edits.outputs) && { edits: validateEdits(plan, block, { edits, isKept }) }),
  };
}

/** Returns the edits as JSON, with the ids of blocks. Throws OPTIONS_INVALID, BLOCK_NOT_FOUND. */
function validateEdits(
  plan: Plan,
  block: BlockConfig,
  { edits, isKept }: { edits: RestartEdits; isKept: (id: string) => boolean },
): RestartEdits {
  const { fields = {}, outputs = {} } = edits;
  const unknownField = Object.keys(fields).find(
    (name) => block.trigger || !Object.hasOwn(block.params, name),
  );
  if (unknownField !== undefined) throw fieldError(block, unknownField);
  const outputEntries = Object.entries(outputs).map(([reference, value]): [string, Json] => {
    const { id, name } = findBlock(plan, reference);
    if (isKept(id))
      return [id, copyCallerJson(value, `The value of "edits.outputs" for "${name}"`, 'OPTIONS_INVALID')];
    throw optionsInvalid(
      `The output of "${name}" cannot be replaced: a run from "${block.name}" does not reuse it.`,
    );
  });
  return {
    fields: copyCallerJson(fields, 'The value of "edits.fields"', 'OPTIONS_INVALID') as JsonObject,
    outputs: Object.fromEntries(outputEntries),
  };
}

function fieldError({ name, trigger, params }: BlockConfig, field: string): EngineError {
  if (trigger)
    return optionsInvalid(
      `"${name}" is a trigger and has no fields to replace: replace the input of the run.`,
    );
  const names = Object.keys(params).map((param) => `"${param}"`);
  const hint = names.length === 0 ? 'the block has no fields' : `its fields are ${names.join(', ')}`;
  return optionsInvalid(`The field "${field}" of "${name}" cannot be replaced: ${hint}.`);
}

function optionsInvalid(message: string): EngineError {
  return new EngineError('OPTIONS_INVALID', message);
}

/** Returns a preview of `collectReusedData`. Does not throw if a run cannot start at the block: see `refusal`. */
export function previewReuse(
  plan: Plan,
  block: BlockConfig,
  { source, iterations }: { source: SourceRun; iterations?: readonly number[] | undefined },
): RestartPreview {
  const { outputs } = source.ledger.root;
  const outermostContainer = iterations && plan.blocks[block.containers[0] ?? ''];
  const topLevelId = outermostContainer?.id ?? block.id;
  const index = plan.skeleton.nodes.findIndex((node) => node.id === topLevelId);
  const rerunIndexes = index < 0 ? new Set<number>() : downstreamOf(plan, index);
  const previews = plan.skeleton.nodes.map((node, nodeIndex) => ({
    nodeIndex,
    ...previewBlock(plan, node.id, outputs.has(node.id)),
  }));
  const upstreamIndexes = index < 0 ? new Set<number>() : upstreamOf(plan, index);
  const omitIndex = ({
    nodeIndex: _nodeIndex,
    ...preview
  }: (typeof previews)[number]): RestartPreview['rerunBlocks'][number] => preview;
  return {
    blockId: block.id,
    refusal: refusalOf(() => collectReusedData(plan, block, source, { iterations })),
    continuedContainer: outermostContainer
      ? { blockId: outermostContainer.id, name: outermostContainer.name }
      : null,
    rerunBlocks: previews.filter(({ nodeIndex }) => rerunIndexes.has(nodeIndex)).map(omitIndex),
    upstreamBlocks: previews.filter(({ nodeIndex }) => upstreamIndexes.has(nodeIndex)).map(omitIndex),
  };
}

function previewBlock(plan: Plan, id: string, ran: boolean): RestartPreview['rerunBlocks'][number] {
  const { name = id, type = '' } = plan.blocks[id] ?? {};
  return { blockId: id, name, type, ran };
}

function refusalOf(work: () => unknown): string | null {
  try {
    work();
    return null;
  } catch (error) {
    if (isEngineError(error)) return error.message;
    throw error;
  }
}

/** Returns the index of the block, or of the outermost container around it, among the top-level nodes. */
function restartIndex(plan: Plan, block: BlockConfig, iterations: readonly number[] | undefined): number {
  const [outermostId] = block.containers;
  if (outermostId !== undefined && !iterations) {
    throw notRestartableError(
      block.name,
      `it is inside the container "${plan.blocks[outermostId]?.name}". Give the indexes of its iterations, or start at the container.`,
    );
  }
  const topLevelId = outermostId ?? block.id;
  const index = plan.skeleton.nodes.findIndex((node) => node.id === topLevelId);
  if (index < 0) throw notRestartableError(block.name, 'it is disabled.');
  return index;
}

/** Throws BLOCK_NOT_RESTARTABLE unless all source blocks have run. Triggers need not have run. */
function requireUpstreamRan(
  plan: Plan,
  start: { block: BlockConfig; index: number; runId: string; hasRun: (id: string) => boolean },
): void {
  for (const edge of plan.skeleton.nodes[start.index]?.ins ?? []) {
    const sourceId = plan.skeleton.nodes[edge.from]?.id ?? '';
    const config = plan.blocks[sourceId];
    if (start.hasRun(sourceId) || config?.trigger) continue;
    const reason = `the block "${config?.name ?? sourceId}", which leads to it, did not run in ${start.runId}. Start at that block, or at an earlier one.`;
    throw notRestartableError(start.block.name, reason);
  }
}

/** Returns the indexes of the top-level blocks that lead to the block at `index`. */
function upstreamOf(plan: Plan, index: number): Set<number> {
  const reachedIndexes = new Set((plan.skeleton.nodes[index]?.ins ?? []).map(({ from }) => from));
  for (const nodeIndex of reachedIndexes)
    for (const { from } of plan.skeleton.nodes[nodeIndex]?.ins ?? []) reachedIndexes.add(from);
  return reachedIndexes;
}

/** Returns the indexes of the top-level blocks downstream of the block at `index`, including the block itself. */
function downstreamOf(plan: Plan, index: number): Set<number> {
  const reachedIndexes = new Set([index]);
  for (const nodeIndex of reachedIndexes)
    for (const out of plan.skeleton.nodes[nodeIndex]?.outs ?? []) reachedIndexes.add(out);
  return reachedIndexes;
}
