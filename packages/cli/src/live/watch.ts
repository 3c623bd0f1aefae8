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

/** Draws a run's progress on stderr until its events end or `failed` rejects. Returns the number of ended blocks. */
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

/** Prints a line with the workflow and the run, and returns a view for this terminal. */
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

/** How to follow a run. */
export interface Following {
  /** Omits blocks that ended before this time, in milliseconds since the epoch. */
  sinceMs: number;
  /** Settles when the run pauses or ends. */
  result: Promise<unknown>;
  /** Other processes execute the run: its logs may be stored before their events arrive. */
  isRemote?: boolean;
}

/** Time without events after which a paused or ended run is taken to have sent all of them. */
const QUIET_MS = 50;
const QUIET = Symbol('quiet');

/**
 * Events of a run until its result, including earlier ones. Some come twice, because the run's logs fill in what the
 * listener missed.
 */
export async function* eventsUntil(
  engine: Engine,
  handle: RunHandle,
  following: Following,
): AsyncGenerator<RunEvent> {
  yield* liveEvents(engine, handle, following);
  if (following.isRemote) yield* eventsFromLogs(engine, handle, following.sinceMs);
}

async function* eventsFromLogs(
  engine: Engine,
  { runId }: RunHandle,
  sinceMs: number,
): AsyncGenerator<RunEvent> {
  for (const log of await engine.getLogs(runId)) {
    const old = log.status === 'paused' ? log.startedMs < sinceMs : (log.endedMs ?? sinceMs) < sinceMs;
    if (!old) yield eventOf(log);
  }
}

async function* liveEvents(
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
    // The first call starts listening, before the logs are read, so that nothing is missed between the two.
    let next = events.next();
    yield* eventsFromLogs(engine, handle, sinceMs);
    for (;;) {
      const item = await Promise.race([next, quiet()]);
      if (item === QUIET) return;
      if (item.done) break;
      yield item.value;
      next = events.next();
    }
    // The events end at a pause. If an answer is on its way, the run continues with new events.
    const isSettled = await Promise.race([settled.then(() => true), delay(QUIET_MS, false)]);
    if (isSettled) return;
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
