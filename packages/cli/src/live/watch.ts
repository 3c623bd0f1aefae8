import { setTimeout as delay } from 'node:timers/promises';
import type { BlockLog, Json, Plan } from '@heddle/core';
import type { Engine, RunEvent, RunHandle, RunResource } from '@heddle/engine';
import { readEnv } from '../env.ts';
import { isMocked } from '../input/mocks.ts';
import type { Io } from '../io.ts';
import { sanitizeLine, styleFor } from '../render/style.ts';
import { repeat } from '../repeat.ts';
import { shortId } from '../run-id.ts';
import { LiveView } from './live-view.ts';
import { createTerminalOutput } from './terminal-output.ts';

/** Renders a run's progress on stderr until its events end or `failure` rejects. Returns the number of ended blocks. */
export async function renderEvents(
  view: LiveView,
  events: AsyncIterable<RunEvent>,
  failure?: Promise<never>,
): Promise<number> {
  const render = async (): Promise<void> => {
    for await (const event of events) view.accept(event);
  };
  try {
    await Promise.race([render(), ...(failure ? [failure] : [])]);
  } finally {
    view.close();
  }
  return view.endedBlockCount;
}

/** Prints a line with the workflow and the run, and returns a view for this terminal. */
export function openView(
  io: Io,
  { plan, runId, mocks }: { plan: Plan; runId: string; mocks?: Json | undefined },
): LiveView {
  const style = styleFor(io.stderr);
  const hasStatusLine = io.stderr.isTTY === true && readEnv().canUpdateLines;
  io.stderr.write(`${style.bold(sanitizeLine(plan.workflow.name))}${style.dim(`  run ${shortId(runId)}`)}\n`);
  const mockedBlocks = Object.values(plan.blocks).filter((block) => isMocked(block, mocks));
  return new LiveView({
    plan,
    mockedIds: new Set(mockedBlocks.map(({ id }) => id)),
    terminal: createTerminalOutput(io.stderr, hasStatusLine),
    style,
    hasStatusLine,
    now: Date.now,
    repeat,
  });
}

/** Which events of a run to yield. */
interface EventOptions {
  /**
   * Also yields, from the run's logs, the starts of blocks that are already running and the ends of blocks since this
   * time, in milliseconds since the epoch.
   */
  sinceMs?: number | undefined;
  /** Settles when the run pauses or ends. */
  result: Promise<RunResource>;
}

/** Yields events of a handle until its result. With `sinceMs`, events of blocks may arrive twice. */
export async function* eventsUntilResult(
  engine: Engine,
  handle: RunHandle,
  { result, sinceMs }: EventOptions,
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
/** Time limit for the last events of a run that is suspended, or whose result rejects: its events may never end. */
const LAST_EVENTS_TIMEOUT_MS = 200;
/** Delay before the events of a paused run are read again. */
const REREAD_DELAY_MS = 200;
const STOP = Symbol('stop');

async function* liveEvents(handle: RunHandle, result: Promise<RunResource>): AsyncGenerator<RunEvent> {
  const stopAfterMs = result.then(
    ({ status }) => (status === 'running' ? LAST_EVENTS_TIMEOUT_MS : STORE_TIMEOUT_MS),
    () => LAST_EVENTS_TIMEOUT_MS,
  );
  const stop = stopAfterMs.then((ms) => delay(ms, STOP, { ref: false }));
  const deduplicator = new EventDeduplicator();
  for (;;) {
    deduplicator.startPass();
    for await (const event of takeUntil(stop, handle.events())) if (deduplicator.isNew(event)) yield event;
    // The events end at a pause. After an answer the run continues, and its events are read again.
    if (await Promise.race([stopAfterMs.then(() => true), delay(REREAD_DELAY_MS, false)])) return;
  }
}

/** Yields the items until their end or until `stop` resolves. */
async function* takeUntil<T>(stop: Promise<typeof STOP>, items: AsyncIterable<T>): AsyncGenerator<T> {
  const iterator = items[Symbol.asyncIterator]();
  for (;;) {
    const item = await Promise.race([iterator.next(), stop]);
    if (item === STOP || item.done) return;
    yield item.value;
  }
}

/**
 * Tells which events of a handle are new when its events are read again from the start. Emissions are compared by their
 * numbers. Other events are compared by their position among the events that are not emissions, because the order
 * between emissions and other events can differ.
 */
class EventDeduplicator {
  #maxEmissionNumber = 0;
  #maxEventCount = 0;
  /** Number of events in the current pass, without emissions. */
  #eventCount = 0;

  /** Begins the next pass over the events, which starts at the first event. */
  startPass(): void {
    this.#eventCount = 0;
  }

  /** True if no earlier pass had the event. Call it for each event of a pass, in order. */
  isNew(event: RunEvent): boolean {
    if (event.type === 'run:paused' || event.type === 'run:resumed') return true;
    if (event.type === 'block:emission') {
      const isNew = event.number > this.#maxEmissionNumber;
      this.#maxEmissionNumber = Math.max(this.#maxEmissionNumber, event.number);
      return isNew;
    }
    this.#eventCount += 1;
    const isNew = this.#eventCount > this.#maxEventCount;
    this.#maxEventCount = Math.max(this.#maxEventCount, this.#eventCount);
    return isNew;
  }
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
