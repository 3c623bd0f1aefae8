import type { Json, Plan } from '@heddle/core';
import type { Engine, RunDetail, RunHandle, RunResource } from '@heddle/engine';
import { exitCodeOf } from './exit-code.ts';
import { onInterrupt } from './interrupt.ts';
import { writeJson } from './io.ts';
import type { Io } from './io.ts';
import type { LiveView } from './live/live-view.ts';
import { renderEvents, eventsUntilResult, openView } from './live/watch.ts';
import { streamEvents } from './live/stream.ts';
import { withFolderClient } from './store-options.ts';
import type { RuntimeOptions } from './store-options.ts';
import { outcomeLines } from './render/outcome.ts';
import { styleFor } from './render/style.ts';

/** How to show the progress and the end of a run. */
export interface FollowOptions extends RuntimeOptions {
  plan: Plan;
  /** The workflow's file, for hints about later commands. */
  file: string | undefined;
  json: boolean;
  /** True to write events, or the text of agents, to stdout as they arrive. Default false. */
  stream?: boolean;
  /** Arguments about blocks that a later command on this run needs too. */
  blockArgs: readonly string[];
  /** Mocks of the run, to mark mocked blocks. */
  mocks?: Json | undefined;
  /** Omits blocks that ended before this time, in milliseconds since the epoch. Default: shows all. */
  sinceMs?: number;
}

/** Shows a run of this process until it ends or waits for a person. Returns the exit code. Ctrl-C cancels the run. */
export async function followRun(
  io: Io,
  engine: Engine,
  handle: RunHandle,
  options: FollowOptions,
): Promise<number> {
  // Registered before anything is shown, so that Ctrl-C works as soon as the run is visible.
  let view: LiveView | undefined;
  const removeHandler = onInterrupt(() => void cancel(io, view, handle, options));
  try {
    if (!options.json && options.stream !== true) view = openView(io, { ...options, runId: handle.runId });
    const result = handle.result();
    const eventOptions = { result, sinceMs: options.sinceMs };
    // Rejects if `result` does (an internal error), because the events of such a run may never end. Never resolves.
    const failure = result.then(() => new Promise<never>(() => undefined));
    if (options.stream === true)
      await streamEvents(io, eventsUntilResult(engine, handle, eventOptions), {
        json: options.json,
        failure,
      });
    if (view) await renderEvents(view, eventsUntilResult(engine, handle, eventOptions), failure);
    const run = await result;
    const { pauses, suspended } = await engine.getRun(handle.runId);
    // The view of a continued run has seen only some of its blocks.
    const endedBlockCount = options.sinceMs === undefined ? (view?.endedBlockCount ?? 0) : 0;
    showOutcome(io, run, { ...options, endedBlockCount, pauses, suspended });
    return exitCodeOf(run.status);
  } finally {
    removeHandler();
  }
}

const CANCEL_REASON = 'Interrupted from the keyboard.';

/**
 * Cancels the run. The request is recorded first, so that it takes effect even if this process dies. A Temporal server
 * records the request itself.
 */
async function cancel(
  io: Io,
  view: LiveView | undefined,
  handle: RunHandle,
  { data, postgres, runtime }: FollowOptions,
): Promise<void> {
  const style = styleFor(io.stderr);
  try {
    const request = { runId: handle.runId, kind: 'cancel', payload: { reason: CANCEL_REASON } } as const;
    // With a database, `handle.cancel` records the request itself, or asks the owner of the run.
    if (runtime !== 'temporal' && postgres === undefined)
      await withFolderClient(data, (client) => client.addRequest(request));
    view?.printLine(`${style.yellow('○')} Cancelling … ${style.dim('(Ctrl-C again to kill)')}`);
    await handle.cancel(CANCEL_REASON);
  } catch (error) {
    view?.printLine(`${style.yellow('!')} ${error instanceof Error ? error.message : String(error)}`);
  }
}

type ShowOptions = FollowOptions & { endedBlockCount: number; cancelReason?: string | null } & Pick<
    RunDetail,
    'pauses' | 'suspended'
  >;

/** Prints the end of a run: as JSON, or as text on stderr with only the output on stdout. */
export function showOutcome(io: Io, run: RunResource, options: ShowOptions): void {
  if (options.json) {
    if (options.stream === true) io.stdout.write(`${JSON.stringify({ type: 'result', data: run })}\n`);
    else writeJson(io, { data: run });
    return;
  }
  const lines = outcomeLines(run, { ...options, runId: run.runId, style: styleFor(io.stderr) });
  io.stderr.write(`${lines.join('\n')}\n`);
  if (run.status === 'completed' && options.stream !== true) writeJson(io, run.output);
}
