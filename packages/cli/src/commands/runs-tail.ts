import type { RunResource } from '@heddle/engine';
import { show } from '../drive.ts';
import { exitOf } from '../exit-code.ts';
import type { Io } from '../io.ts';
import { drawEvents, openView } from '../live/watch.ts';
import { findRunId } from '../run-id.ts';
import { withVisitor } from '../with-visitor.ts';

export interface TailOptions {
  json: boolean;
  data: string;
}

/** Follows a run that another process runs; ends with it, or when a person is needed or nobody runs it any more. */
export async function tailRun(io: Io, given: string, options: TailOptions): Promise<number> {
  return withVisitor(options.data, async (visitor) => {
    const runId = await findRunId(visitor, given, options.data);
    return followRun(io, visitor, { runId, ...options, envOptions: [] });
  });
}

interface FollowOptions extends TailOptions {
  runId: string;
  envOptions: readonly string[];
  select?: readonly string[];
}

type Followed = Parameters<Parameters<typeof withVisitor>[1]>[0];

/** Shows a run of another process from its beginning to its rest, and gives the exit code. */
export async function followRun(io: Io, visitor: Followed, options: FollowOptions): Promise<number> {
  const { runId, json, select } = options;
  const plan = await visitor.planOf(runId);
  const events = visitor.follow(runId);
  let blocks = 0;
  if (json) for await (const _ of events);
  else blocks = await drawEvents(openView(io, { plan, runId }), events);
  const { pauses, suspended, ...run } = await visitor.getRun(runId, {
    ...(select && select.length > 0 && { select }),
  });
  show(io, resourceOf(run), { ...options, plan, file: undefined, blocks, pauses, suspended });
  return exitOf(run.status);
}

function resourceOf(run: RunResource): RunResource {
  const { runId, workflowId, status, output, blockOutputs, error, startedAt, endedAt, durationMs } = run;
  return { runId, workflowId, status, output, blockOutputs, error, startedAt, endedAt, durationMs };
}
