import type { Json, Plan } from '@heddle/core';
import type { Engine, RunDetail, RunHandle, RunResource } from '@heddle/engine';
import { exitOf } from './exit-code.ts';
import { onInterrupt } from './interrupt.ts';
import { writeJson } from './io.ts';
import type { Io } from './io.ts';
import type { LiveView } from './live/live-view.ts';
import { drawEvents, eventsUntil, openView } from './live/watch.ts';
import type { PlaceOptions } from './place.ts';
import { outcomeLines } from './render/outcome.ts';
import { styleFor } from './render/style.ts';
import { withFolderClient } from './with-folder-client.ts';

/** How the progress and the end of a run are shown. */
export interface DriveOptions extends PlaceOptions {
  plan: Plan;
  /** The file the workflow came from, for commands that go on with it. */
  file: string | undefined;
  json: boolean;
  /** Options that a later command on this run needs as well, for its environment values. */
  blockWords: readonly string[];
  /** Mocks of the run, so that mocked blocks are told from real ones. */
  mocks?: Json | undefined;
  /** What was over before this time (milliseconds since the epoch) is not shown again; default: everything is shown. */
  sinceMs?: number;
}

/** Follows a run of this process to its end or to a person, shows it, and gives the exit code. Ctrl-C cancels it. */
export async function drive(
  io: Io,
  engine: Engine,
  handle: RunHandle,
  options: DriveOptions,
): Promise<number> {
  // Whoever sees the run on the screen can cancel it.
  let view: LiveView | undefined;
  const stop = onInterrupt(() => void cancel(io, view, handle, options));
  try {
    if (!options.json) view = openView(io, { ...options, runId: handle.runId });
    const result = handle.result();
    if (view)
      await draw(view, engine, handle, {
        result,
        sinceMs: options.sinceMs ?? 0,
        isElsewhere: options.runtime === 'temporal',
      });
    const run = await result;
    const { pauses, suspended } = await engine.getRun(handle.runId);
    // Of a run that went on here, only a part of the blocks was seen.
    const blocks = options.sinceMs === undefined ? (view?.blocks ?? 0) : 0;
    show(io, run, { ...options, blocks, pauses, suspended });
    return exitOf(run.status);
  } finally {
    stop();
  }
}

const REASON = 'Interrupted from the keyboard.';

/**
 * Cancels the run, the wish being recorded before it is said: whatever becomes of this process, it will be fulfilled. A
 * Temporal server records it itself.
 */
async function cancel(
  io: Io,
  view: LiveView | undefined,
  handle: RunHandle,
  { data, postgres, runtime }: DriveOptions,
): Promise<void> {
  const style = styleFor(io.stderr);
  try {
    const ask = { runId: handle.runId, kind: 'cancel', payload: { reason: REASON } } as const;
    // In a database it is recorded at once, or asked of who has the run.
    if (runtime !== 'temporal' && postgres === undefined)
      await withFolderClient(data, (client) => client.addRequest(ask));
    view?.say(`${style.yellow('○')} Cancelling … ${style.dim('(Ctrl-C again to kill)')}`);
    await handle.cancel(REASON);
  } catch (error) {
    view?.say(`${style.yellow('!')} ${error instanceof Error ? error.message : String(error)}`);
  }
}

function draw(
  view: LiveView,
  engine: Engine,
  handle: RunHandle,
  following: Parameters<typeof eventsUntil>[2],
): Promise<number> {
  // Events of a run that breaks may never end.
  const failed = following.result.then(() => new Promise<never>(() => undefined));
  return drawEvents(view, eventsUntil(engine, handle, following), failed);
}

type Shown = DriveOptions & { blocks: number; cancelReason?: string | null } & Pick<
    RunDetail,
    'pauses' | 'suspended'
  >;

/** The end of a run: as JSON, or for people on stderr with only its output on stdout. */
export function show(io: Io, run: RunResource, options: Shown): void {
  if (options.json) {
    writeJson(io, { data: run });
    return;
  }
  const lines = outcomeLines(run, { ...options, runId: run.runId, style: styleFor(io.stderr) });
  io.stderr.write(`${lines.join('\n')}\n`);
  if (run.status === 'completed') writeJson(io, run.output);
}
