import { setTimeout as delay } from 'node:timers/promises';
import type { BlockLog, Json, Plan } from '@heddle/core';
import type { Engine, RunEvent, RunHandle } from '@heddle/engine';
import { readEnv } from '../env.ts';
import { isMocked } from '../input/mocks.ts';
import type { Io } from '../io.ts';
import { safeLine, styleFor } from '../render/style.ts';
import { shortId } from '../run-id.ts';
import { LiveView } from './live-view.ts';
import type { Ticker } from './live-view.ts';
import { createPainter } from './painter.ts';

/** Draws a run's progress on stderr until its events end or `failed` rejects; gives the number of blocks that have ended. */
export async function drawEvents(
  view: LiveView,
  events: AsyncIterable<RunEvent>,
  failed?: Promise<never>,
): Promise<number> {
  const draw = async (): Promise<void> => {
    for await (const event of events) view.accept(event);
  };
  try {
    await Promise.race([draw(), ...(failed ? [failed] : [])]);
  } finally {
    view.close();
  }
  return view.blocks;
}

/** The view for this terminal, after a line that says which run it is. */
export function openView(
  io: Io,
  { plan, runId, mocks }: { plan: Plan; runId: string; mocks?: Json | undefined },
): LiveView {
  const style = styleFor(io.stderr);
  const updating = io.stderr.isTTY === true && readEnv().canUpdateLines;
  io.stderr.write(`${style.bold(safeLine(plan.workflow.name))}${style.dim(`  run ${shortId(runId)}`)}\n`);
  const mocked = Object.values(plan.blocks).filter((block) => isMocked(block, mocks));
  return new LiveView({
    plan,
    mocked: new Set(mocked.map(({ id }) => id)),
    painter: createPainter(io.stderr, updating),
    style,
    updating,
    now: Date.now,
    ticker,
  });
}

/** What tells a follower which part of a run's past it has to catch up with, and when there is nothing more to come. */
export interface Following {
  /** What was over before this time (milliseconds since the epoch) is left out. */
  sinceMs: number;
  /** Settles when the run rests or has ended. */
  result: Promise<unknown>;
  /** Other processes tell of the run, by what they store: the last of it may be there before it has been heard. */
  isElsewhere?: boolean;
}

/** How long nothing has to be heard of a run that rests before it is taken to have said everything. */
const QUIET_MS = 50;
const QUIET = Symbol('quiet');

/**
 * Events of a run until its result is there, with what had happened before anybody listened. Some come twice: the run's
 * logs fill in what events cannot tell.
 */
export async function* eventsUntil(
  engine: Engine,
  handle: RunHandle,
  following: Following,
): AsyncGenerator<RunEvent> {
  yield* heardUntil(engine, handle, following);
  if (following.isElsewhere) yield* logged(engine, handle, following.sinceMs);
}

async function* logged(engine: Engine, { runId }: RunHandle, sinceMs: number): AsyncGenerator<RunEvent> {
  for (const log of await engine.getLogs(runId)) {
    const old = log.status === 'paused' ? log.startedMs < sinceMs : (log.endedMs ?? sinceMs) < sinceMs;
    if (!old) yield eventOf(log);
  }
}

async function* heardUntil(
  engine: Engine,
  handle: RunHandle,
  { sinceMs, result }: Following,
): AsyncGenerator<RunEvent> {
  const settled = result.then(
    () => undefined,
    () => undefined,
  );
  const quiet = async (): Promise<typeof QUIET> => {
    await settled;
    return delay(QUIET_MS, QUIET);
  };
  for (;;) {
    const events = handle.events()[Symbol.asyncIterator]();
    // Listening begins with the first call, so nothing falls between the logs and it.
    let next = events.next();
    yield* logged(engine, handle, sinceMs);
    for (;;) {
      const item = await Promise.race([next, quiet()]);
      if (item === QUIET) return;
      if (item.done) break;
      yield item.value;
      next = events.next();
    }
    // An answer may be on its way to a run that rests: it goes on, and tells so to those who listen then.
    const over = await Promise.race([settled.then(() => true), delay(QUIET_MS, false)]);
    if (over) return;
  }
}

function eventOf(log: Awaited<ReturnType<Engine['getLogs']>>[number]): RunEvent {
  const shown: BlockLog = { ...log, input: undefined, output: undefined };
  return {
    type: `block:${log.status === 'running' ? 'started' : log.status}`,
    runId: log.runId,
    atMs: log.endedMs ?? log.startedMs,
    log: shown,
    output: log.output,
  };
}

const ticker: Ticker = (everyMs, tick) => {
  const timer = setInterval(tick, everyMs);
  timer.unref();
  return () => clearInterval(timer);
};
