import { setTimeout as delay } from 'node:timers/promises';
import type { BlockLog, Json, Plan } from '@heddle/core';
import type { Engine, RunEvent, RunHandle, RunResource } from '@heddle/engine';
import { readEnv } from '../env.ts';
import { isMocked } from '../input/mocks.ts';
import type { Io } from '../io.ts';
import { safeLine, styleFor } from '../render/style.ts';
import { shortId } from '../run-id.ts';
import { LiveView } from './live-view.ts';
import type { Ticker } from './live-view.ts';
import { createPainter } from './painter.ts';

/** Draws a run's progress on stderr until its events end or `failure` rejects. Returns the number of ended blocks. */
export async function drawEvents(
  view: LiveView,
  events: AsyncIterable<RunEvent>,
  failure?: Promise<never>,
): Promise<number> {
  const draw = async (): Promise<void> => {
    for await (const event of events) view.accept(event);
  };
  try {
    await Promise.race([draw(), ...(failure ? [failure] : [])]);
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
  const mockedBlocks = Object.values(plan.blocks).filter((block) => isMocked(block, mocks));
  return new LiveView({
    plan,
    mocked: new Set(mockedBlocks.map(({ id }) => id)),
    painter: createPainter(io.stderr, updating),
    style,
    updating,
    now: Date.now,
    ticker,
  });
}

/** Which events of a run to yield. */
interface FollowOptions {
  /**
   * Also yields, from the run's logs, the starts of blocks that are already running and the ends of blocks since this
   * time, in milliseconds since the epoch.
   */
  sinceMs?: number | undefined;
  /** Settles when the run pauses or ends. */
  result: Promise<RunResource>;
}

/** Yields events of a handle until its result. With `sinceMs`, events of blocks may arrive twice. */
export async function* eventsUntil(
  engine: Engine,
  handle: RunHandle,
  { result, sinceMs }: FollowOptions,
): AsyncGenerator<RunEvent> {
  // A run that continues after a crash emits no second `block:started` for these blocks.
  if (sinceMs !== undefined)
    for await (const event of eventsFromLogs(engine, handle, sinceMs))
      if (event.type === 'block:started') yield event;
  yield* liveEvents(handle, result);
  if (sinceMs !== undefined) yield* eventsFromLogs(engine, handle, sinceMs);
}

async function* eventsFromLogs(
  engine: Engine,
  { runId }: RunHandle,
  sinceMs: number,
): AsyncGenerator<RunEvent> {
  for (const log of await engine.getLogs(runId)) {
    const isOld = log.status === 'paused' ? log.startedMs < sinceMs : (log.endedMs ?? sinceMs) < sinceMs;
    if (!isOld) yield eventOf(log);
  }
}

/** Time limit for a store that does not respond. Normally the events of a paused or ended run end by themselves. */
const STORE_TIMEOUT_MS = 5000;
/** Time after which a suspended run has presumably sent its events, and the events of a paused run are read again. */
const QUIET_MS = 200;
const QUIET = Symbol('quiet');

async function* liveEvents(handle: RunHandle, result: Promise<RunResource>): AsyncGenerator<RunEvent> {
  const settled = result.then(
    ({ status }) => (status === 'running' ? QUIET_MS : STORE_TIMEOUT_MS),
    () => QUIET_MS,
  );
  const quiet = settled.then((ms) => delay(ms, QUIET, { ref: false }));
  const startReading = unreadEvents();
  for (;;) {
    const isUnread = startReading();
    for await (const event of takeUntil(quiet, handle.events())) if (isUnread(event)) yield event;
    // The events end at a pause. After an answer the run continues, and its events are read again.
    if (await Promise.race([settled.then(() => true), delay(QUIET_MS, false)])) return;
  }
}

/** Yields the items until their end or until `stop` resolves. */
async function* takeUntil<T>(stop: Promise<typeof QUIET>, items: AsyncIterable<T>): AsyncGenerator<T> {
  const iterator = items[Symbol.asyncIterator]();
  for (;;) {
    const item = await Promise.race([iterator.next(), stop]);
    if (item === QUIET || item.done) return;
    yield item.value;
  }
}

/**
 * Returns a function to call before each reading of a handle. That function returns a predicate: true for events that
 * no earlier reading had. Emissions and other events are counted separately, because their order can differ.
 */
function unreadEvents(): () => (event: RunEvent) => boolean {
  let [events, emissions] = [0, 0];
  return () => {
    let count = 0;
    return (event) => {
      if (event.type === 'run:paused' || event.type === 'run:resumed') return true;
      const number = event.type === 'block:emission' ? event.number : (count += 1);
      const isUnread = number > (event.type === 'block:emission' ? emissions : events);
      if (event.type === 'block:emission') emissions = Math.max(emissions, number);
      else events = Math.max(events, number);
      return isUnread;
    };
  };
}

function eventOf(log: Awaited<ReturnType<Engine['getLogs']>>[number]): RunEvent {
  const blockLog: BlockLog = { ...log, input: undefined, output: undefined };
  return {
    type: `block:${log.status === 'running' ? 'started' : log.status}`,
    runId: log.runId,
    atMs: log.endedMs ?? log.startedMs,
    log: blockLog,
    output: log.output,
  };
}

const ticker: Ticker = (everyMs, tick) => {
  const timer = setInterval(tick, everyMs);
  timer.unref();
  return () => clearInterval(timer);
};
