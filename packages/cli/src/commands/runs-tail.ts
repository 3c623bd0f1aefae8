import type { RunEvent, RunResource } from '@heddle/engine';
import type { RunReader } from '@heddle/engine/reader';
import { showOutcome } from '../follow-run.ts';
import { exitCodeOf } from '../exit-code.ts';
import type { Io } from '../io.ts';
import { withReader } from '../store-options.ts';
import type { RuntimeOptions } from '../store-options.ts';
import { streamEvents } from '../live/stream.ts';
import { renderEvents, openView } from '../live/watch.ts';
import { findRunId } from '../run-id.ts';

export interface TailOptions extends RuntimeOptions {
  json: boolean;
  stream: boolean;
}

/** Follows a run of another process until it ends, waits for a person, or is no longer executed by any process. */
export async function tailRun(io: Io, id: string, options: TailOptions): Promise<number> {
  return withReader(options, async (reader) => {
    const runId = await findRunId(reader, id, options);
    return followRecordedRun(io, reader, { runId, ...options, blockArgs: [] });
  });
}

interface FollowRecordedOptions extends TailOptions {
  runId: string;
  blockArgs: readonly string[];
  select?: readonly string[];
  /** Streams only events since this time, in milliseconds since the epoch. Default: all. */
  sinceMs?: number;
}

/** Shows a run of another process from its start until it pauses or ends. Returns the exit code. */
export async function followRecordedRun(
  io: Io,
  reader: RunReader,
  options: FollowRecordedOptions,
): Promise<number> {
  const { runId, json, stream, select, sinceMs = 0 } = options;
  const plan = await reader.planOf(runId);
  const mocks = await reader.mocksOf(runId);
  const events = reader.follow(runId);
  let endedBlockCount = 0;
  if (stream) await streamEvents(io, eventsSince(events, sinceMs), { json });
  else if (json) for await (const _ of events);
  else endedBlockCount = await renderEvents(openView(io, { plan, runId, mocks }), events);
  const { pauses, suspended, ...run } = await reader.getRun(runId, {
    ...(select && select.length > 0 && { select }),
  });
  const cancelReason = run.status === 'cancelled' ? ((await reader.cancelReason(runId)) ?? null) : null;
  showOutcome(io, toRunResource(run), {
    ...options,
    ...{ plan, file: undefined, endedBlockCount, pauses, suspended, cancelReason },
  });
  return exitCodeOf(run.status);
}

async function* eventsSince(events: AsyncIterable<RunEvent>, sinceMs: number): AsyncGenerator<RunEvent> {
  for await (const event of events) if (event.atMs >= sinceMs) yield event;
}

function toRunResource(run: RunResource): RunResource {
  const { runId, workflowId, status, output, blockOutputs, error, startedAt, endedAt, durationMs } = run;
  return { runId, workflowId, status, output, blockOutputs, error, startedAt, endedAt, durationMs };
}
