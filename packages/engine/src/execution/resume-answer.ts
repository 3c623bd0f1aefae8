import { EngineError } from '@heddle/core';
import type { BlockExecutor, Json, Plan } from '@heddle/core';
import { isJsonObject } from '@heddle/core/blocks';
import type { PausePoint } from '@heddle/core/run';
import type { EngineParts } from '../parts.ts';
import { pointClosed, runNotFound } from '../records/run-errors.ts';

/** The output of the block that waits at `point`, once `input` is submitted. Throws RESUME_INPUT_INVALID. */
export async function answerTo(
  parts: Pick<EngineParts, 'registry' | 'values' | 'clock'>,
  plan: Plan,
  point: PausePoint,
  input: Json,
): Promise<Json> {
  const block = plan.blocks[point.blockId];
  const executor: Pick<BlockExecutor, 'resume'> | undefined = block && parts.registry.get(block.type);
  const paused = await parts.values.load(point.output);
  const nowMs = parts.clock.now();
  if (!block || !executor?.resume)
    return { ...(isJsonObject(paused) ? paused : {}), ...(isJsonObject(input) ? input : { value: input }) };
  return executor.resume({
    block,
    paused: isJsonObject(paused) ? paused : {},
    input,
    pausedMs: point.pausedMs,
    nowMs,
  });
}

/** True when the journal has opened (`paused`) or answered (`resumed`) a point with this token: a repeated resume answers as the first. */
export async function wasToken(
  parts: Pick<EngineParts, 'stores'>,
  runId: string,
  token: string,
  type: 'paused' | 'resumed',
): Promise<boolean> {
  const entries = await parts.stores.runs.journal(runId);
  return entries.some((entry) => entry.type === type && entry.token === token);
}

/** Says why nothing can be answered with `token`; `open`: the open points of a run that has not ended. */
export async function refuse(
  parts: Pick<EngineParts, 'stores'>,
  runId: string,
  { open, token }: { open: readonly PausePoint[] | undefined; token: string | undefined },
): Promise<never> {
  if (!open) {
    if (await parts.stores.runs.header(runId))
      throw new EngineError('RUN_ENDED', `Run ${runId} has ended: nothing in it waits for a person.`);
    throw runNotFound(runId);
  }
  if (token !== undefined) {
    if (await wasToken(parts, runId, token, 'paused')) throw pointClosed(runId);
    throw new EngineError('RESUME_POINT_NOT_FOUND', `Run ${runId} has no pause point with that id.`);
  }
  if (open.length === 0)
    throw new EngineError('RESUME_POINT_NOT_FOUND', `Nothing in run ${runId} waits for a person.`);
  const names = open.map(({ blockName, token: id }) => `"${blockName}" (${id})`).join(', ');
  throw new EngineError(
    'RESUME_POINT_NOT_FOUND',
    `Run ${runId} waits at ${open.length} pause points: ${names}. Say which one to resume.`,
  );
}
