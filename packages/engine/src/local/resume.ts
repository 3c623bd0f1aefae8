import { EngineError } from '@heddle/core';
import type { BlockExecutor, Json } from '@heddle/core';
import { isJsonObject } from '@heddle/core/blocks';
import type { PausePoint } from '@heddle/core/run';
import type { EngineParts } from '../parts.ts';
import type { ActiveRun } from './run.ts';

type Parts = Pick<EngineParts, 'stores' | 'runtime' | 'registry' | 'values' | 'clock'>;

/**
 * Submits `input` to a pause point; returns the run as it goes on, or undefined when the same token was answered before
 * and the run has ended since.
 *
 * Throws RUN_NOT_FOUND, RUN_ENDED, RESUME_POINT_NOT_FOUND, RESUME_POINT_CLOSED, RESUME_INPUT_INVALID; a refused resume leaves no trace.
 */
export async function resumeRun(
  parts: Parts,
  runId: string,
  options: { token?: string; input?: Json },
): Promise<ActiveRun | undefined> {
  const { token, input = {} } = options;
  const run = await parts.runtime.open(runId);
  const point = run?.point(token);
  if (run && point) {
    await run.once(point.token, async () =>
      run.answered(point, input, await outputOf(parts, point, input, run)),
    );
    return run;
  }
  if (token !== undefined && (await answeredBefore(parts, runId, token))) return run;
  await refuse(parts, runId, { run, token });
  return run;
}

async function outputOf(parts: Parts, point: PausePoint, input: Json, run: ActiveRun): Promise<Json> {
  const block = run.replica.plan.blocks[point.blockId];
  const executor: Pick<BlockExecutor, 'resume'> | undefined = block && parts.registry.get(block.type);
  const paused = await parts.values.load(point.output);
  const nowMs = parts.clock.now();
  if (!block || !executor?.resume)
    return { ...(isJsonObject(paused) ? paused : {}), ...(isJsonObject(input) ? input : { value: input }) };
  return executor.resume({
    block,
    paused: isJsonObject(paused) ? paused : {},
    input,
    pausedMs: nowMs - point.pausedMs,
    nowMs,
  });
}

/** A repeated resume answers as the first one did. */
async function answeredBefore(parts: Parts, runId: string, token: string): Promise<boolean> {
  const entries = await parts.stores.runs.journal(runId);
  return entries.some((entry) => entry.type === 'resumed' && entry.token === token);
}

async function refuse(
  parts: Parts,
  runId: string,
  at: { run: ActiveRun | undefined; token: string | undefined },
): Promise<never> {
  const { run, token } = at;
  if (!run) {
    if (await parts.stores.runs.header(runId))
      throw new EngineError('RUN_ENDED', `Run ${runId} has ended: nothing in it waits for a person.`);
    throw new EngineError('RUN_NOT_FOUND', `There is no run ${runId}.`);
  }
  const open = [...run.replica.pauses.values()].filter(({ kind }) => kind === 'human');
  if (token !== undefined) {
    const known = (await parts.stores.runs.journal(runId)).some(
      (entry) => entry.type === 'paused' && entry.token === token,
    );
    if (known)
      throw new EngineError(
        'RESUME_POINT_CLOSED',
        `That pause point of run ${runId} is closed: the run has moved on without it.`,
      );
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
