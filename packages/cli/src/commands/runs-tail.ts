import type { RunResource } from '@heddle/engine';
import type { RunReader } from '@heddle/engine/reader';
import { show } from '../drive.ts';
import { exitOf } from '../exit-code.ts';
import type { Io } from '../io.ts';
import { withReader } from '../place.ts';
import type { PlaceOptions } from '../place.ts';
import { drawEvents, openView } from '../live/watch.ts';
import { findRunId } from '../run-id.ts';

export interface TailOptions extends PlaceOptions {
  json: boolean;
}

/** Follows a run that another process runs; ends with it, or when a person is needed or nobody runs it any more. */
export async function tailRun(io: Io, given: string, options: TailOptions): Promise<number> {
  return withReader(options, async (reader) => {
    const runId = await findRunId(reader, given, options);
    return followRun(io, reader, { runId, ...options, blockWords: [] });
  });
}

interface FollowOptions extends TailOptions {
  runId: string;
  blockWords: readonly string[];
  select?: readonly string[];
}

/** Shows a run of another process from its beginning to its rest, and gives the exit code. */
export async function followRun(io: Io, reader: RunReader, options: FollowOptions): Promise<number> {
  const { runId, json, select } = options;
  const plan = await reader.planOf(runId);
  const mocks = await reader.mocksOf(runId);
  const events = reader.follow(runId);
  let blocks = 0;
  if (json) for await (const _ of events);
  else blocks = await drawEvents(openView(io, { plan, runId, mocks }), events);
  const { pauses, suspended, ...run } = await reader.getRun(runId, {
    ...(select && select.length > 0 && { select }),
  });
  const cancelReason = run.status === 'cancelled' ? await reader.cancelReason(runId) : null;
  show(io, resourceOf(run), {
    ...options,
    ...{ plan, file: undefined, blocks, pauses, suspended, cancelReason },
  });
  return exitOf(run.status);
}

function resourceOf(run: RunResource): RunResource {
  const { runId, workflowId, status, output, blockOutputs, error, startedAt, endedAt, durationMs } = run;
  return { runId, workflowId, status, output, blockOutputs, error, startedAt, endedAt, durationMs };
}
