import type { Plan } from '@heddle/core';
import type { Engine, RunDetail, RunHandle, RunResource } from '@heddle/engine';
import { exitOf } from './exit-code.ts';
import { onInterrupt } from './interrupt.ts';
import { writeJson } from './io.ts';
import type { Io } from './io.ts';
import { drawEvents, eventsUntil, openView } from './live/watch.ts';
import type { CommandContext } from './render/commands.ts';
import { outcomeLines } from './render/outcome.ts';
import { styleFor } from './render/style.ts';

/** How the progress and the end of a run are shown. */
export interface DriveOptions {
  plan: Plan;
  /** The file the workflow came from, for commands that go on with it. */
  file: string | undefined;
  json: boolean;
  data: string;
  /** Options that a later command on this run needs as well, for its environment values. */
  envOptions: readonly string[];
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
  const stop = onInterrupt(() => {
    const style = styleFor(io.stderr);
    if (!options.json)
      io.stderr.write(`\n${style.yellow('○')} Cancelling … ${style.dim('(Ctrl-C again to kill)')}\n`);
    // A run that cannot be cancelled fails its result too, and is reported there.
    handle.cancel('Interrupted from the keyboard.').catch(() => undefined);
  });
  try {
    const result = handle.result();
    const blocks = options.json ? 0 : await draw(io, engine, { handle, result }, options);
    const run = await result;
    const { pauses, suspended } = await engine.getRun(handle.runId);
    // Of a run that went on here, only a part of the blocks was seen.
    show(io, run, { ...options, blocks: options.sinceMs === undefined ? blocks : 0, pauses, suspended });
    return exitOf(run.status);
  } finally {
    stop();
  }
}

function draw(
  io: Io,
  engine: Engine,
  of: { handle: RunHandle; result: Promise<unknown> },
  options: DriveOptions,
): Promise<number> {
  const view = openView(io, options.plan, of.handle.runId);
  // Events of a run that breaks may never end.
  const failed = of.result.then(() => new Promise<never>(() => undefined));
  const following = { sinceMs: options.sinceMs ?? 0, result: of.result };
  return drawEvents(view, eventsUntil(engine, of.handle, following), failed);
}

type Shown = DriveOptions & { blocks: number } & Pick<RunDetail, 'pauses' | 'suspended'>;

/** The end of a run: as JSON, or for people on stderr with only its output on stdout. */
export function show(io: Io, run: RunResource, options: Shown): void {
  if (options.json) {
    writeJson(io, { data: run });
    return;
  }
  const context: CommandContext = { runId: run.runId, data: options.data, envOptions: options.envOptions };
  const lines = outcomeLines(run, { ...options, ...context, style: styleFor(io.stderr) });
  io.stderr.write(`${lines.join('\n')}\n`);
  if (run.status === 'completed') writeJson(io, run.output);
}
