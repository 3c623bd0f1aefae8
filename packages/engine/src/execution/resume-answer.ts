import { EngineError } from '@heddle/core';
import type { BlockExecutor, Json, Plan } from '@heddle/core';
import { isJsonObject } from '@heddle/core/blocks';
import type { PausePoint } from '@heddle/core/run';
import type { RuntimeDependencies } from './runtime-dependencies.ts';
import { readHeader } from '../records/read-run.ts';
import { pausePointClosedError } from '../records/run-errors.ts';

/**
 * Returns the output of the paused block for the submitted `input`. If the attempt continues after the pause, returns
 * the answer for it instead. Throws RESUME_INPUT_INVALID.
 */
export async function resumedOutput(
  dependencies: Pick<RuntimeDependencies, 'registry' | 'values' | 'clock'>,
  plan: Plan,
  point: PausePoint,
  input: Json,
): Promise<Json> {
  const block = plan.blocks[point.blockId];
  const executor: Pick<BlockExecutor, 'resume'> | undefined = block && dependencies.registry.get(block.type);
  const pausedOutput = await dependencies.values.load(point.output);
  const nowMs = dependencies.clock.now();
  if (point.continues && !executor?.resume) return input;
  if (!block || !executor?.resume)
    return {
      ...(isJsonObject(pausedOutput) ? pausedOutput : {}),
      ...(isJsonObject(input) ? input : { value: input }),
    };
  return executor.resume({
    block,
    pausedOutput: isJsonObject(pausedOutput) ? pausedOutput : {},
    input,
    pausedMs: point.pausedMs,
    nowMs,
  });
}

/** True if the journal contains an entry of this type with this token. */
export async function hasTokenEntry(
  dependencies: Pick<RuntimeDependencies, 'stores'>,
  runId: string,
  token: string,
  type: 'paused' | 'resumed',
): Promise<boolean> {
  const entries = await dependencies.stores.runs.journal(runId);
  return entries.some((entry) => entry.type === type && entry.token === token);
}

/**
 * Throws the error for a resume that was not accepted. `openPoints`: the open pause points of the run; undefined
 * if it has ended.
 */
export async function rejectResume(
  dependencies: Pick<RuntimeDependencies, 'stores'>,
  runId: string,
  { openPoints, token }: { openPoints: readonly PausePoint[] | undefined; token: string | undefined },
): Promise<never> {
  if (!openPoints) {
    await readHeader(dependencies, runId);
    throw new EngineError('RUN_ENDED', `Run ${runId} has ended: nothing in it can be resumed.`);
  }
  if (token !== undefined) {
    if (await hasTokenEntry(dependencies, runId, token, 'paused')) throw pausePointClosedError(runId);
    throw new EngineError('RESUME_POINT_NOT_FOUND', `Run ${runId} has no pause point with that id.`);
  }
  if (openPoints.length === 0)
    throw new EngineError('RESUME_POINT_NOT_FOUND', `Run ${runId} has no open pause point.`);
  const names = openPoints.map(({ blockName, token: id }) => `"${blockName}" (${id})`).join(', ');
  throw new EngineError(
    'RESUME_POINT_NOT_FOUND',
    `Run ${runId} has ${openPoints.length} open pause points: ${names}. Name the one to resume.`,
  );
}
