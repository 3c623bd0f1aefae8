import type { RunRecord } from '@heddle/core';
import { loadEvent, pausedEvent } from '../../records/run-events.ts';
import type { IdleStateEvent, RawEvent } from '../../records/run-events.ts';
import type { Values } from '../../records/values.ts';
import type { RunEvent } from '../../types.ts';

/** The listeners of a run, some for all events and some only for changes of its idle state. */
export class RunListeners {
  readonly #eventListeners = new Set<(event: RawEvent) => void>();
  readonly #idleStateListeners = new Set<(event: IdleStateEvent) => void>();

  /** Adds a listener for all events. Returns a function that removes it. */
  addEventListener(listener: (event: RawEvent) => void): () => void {
    this.#eventListeners.add(listener);
    return () => this.#eventListeners.delete(listener);
  }

  /** Resolves at the next change of the idle state. */
  waitForIdleStateChange(): Promise<void> {
    return new Promise((resolve) => {
      const listener = (): void => {
        this.#idleStateListeners.delete(listener);
        resolve();
      };
      this.#idleStateListeners.add(listener);
    });
  }

  get isEmpty(): boolean {
    return this.#eventListeners.size === 0 && this.#idleStateListeners.size === 0;
  }

  /** True if there is a listener for all events. */
  get hasEventListeners(): boolean {
    return this.#eventListeners.size > 0;
  }

  notify(event: RawEvent): void {
    for (const listener of this.#eventListeners) listener(event);
    if (event.type === 'idle-state') for (const listener of this.#idleStateListeners) listener(event);
  }
}

/** A run whose events can be streamed. */
interface StreamedRun {
  readonly runId: string;
  /** Number of the last entry that listeners were notified of. */
  readonly lastNotifiedSeq: number;
  /** The idle state that listeners were notified of, if nothing has happened since. */
  readonly notifiedIdleState: IdleStateEvent | undefined;
  /** The error that stopped the run in this process; undefined if it was not stopped. */
  readonly stopError: Error | undefined;
  hasEnded(): boolean;
  record(): Promise<RunRecord>;
  listen(listener: (event: RawEvent) => void): () => void;
}

interface EventOptions {
  /** Number of the last entry whose events are omitted. */
  afterSeq: number;
  /** Returns the events after that entry, up to the entry `upToSeq`. */
  readMissedEvents: (upToSeq: number) => AsyncIterable<RunEvent>;
  values: Values;
  now: () => number;
}

/**
 * Returns the events of a run: those that the listener missed, and all later ones. The stream ends when the run has
 * ended or is paused for human input. The run never waits for readers: unread events are buffered.
 */
export function runEvents(run: StreamedRun, options: EventOptions): AsyncGenerator<RunEvent> {
  const { lastNotifiedSeq, notifiedIdleState } = run;
  const buffer: RawEvent[] = [];
  // A caller that has seen the last entry already knows this idle state, and waits for the next one.
  if (notifiedIdleState && lastNotifiedSeq > options.afterSeq) buffer.push(notifiedIdleState);
  let wake = (): void => undefined;
  const unsubscribe = run.listen((event) => {
    buffer.push(event);
    if (event.type === 'idle-state' && event.idleState === 'ended') unsubscribe();
    wake();
  });
  const waitForEvent = (): Promise<void> => new Promise((resolve) => (wake = resolve));
  return streamEvents(run, { ...options, upToSeq: lastNotifiedSeq, buffer, waitForEvent, unsubscribe });
}

interface Subscription extends EventOptions {
  upToSeq: number;
  buffer: RawEvent[];
  waitForEvent(): Promise<void>;
  unsubscribe(): void;
}

async function* streamEvents(run: StreamedRun, subscription: Subscription): AsyncGenerator<RunEvent> {
  try {
    const lastEmissionNumber = yield* missedEvents(run, subscription);
    for await (const event of laterEvents(run, subscription))
      if (event.type !== 'block:emission' || event.number > lastEmissionNumber) yield event;
  } finally {
    subscription.unsubscribe();
  }
}

/** Yields the events before the subscription, and returns the number of the last emission among them. */
async function* missedEvents(
  run: StreamedRun,
  { readMissedEvents, upToSeq }: Subscription,
): AsyncGenerator<RunEvent, number> {
  let lastEmissionNumber = 0;
  try {
    for await (const event of readMissedEvents(upToSeq)) {
      if (event.type === 'block:emission') lastEmissionNumber = event.number;
      yield event;
    }
  } catch (error) {
    // If the run was stopped, the stores may be closed: the reason for the stop explains the error.
    throw run.stopError ?? error;
  }
  return lastEmissionNumber;
}

async function* laterEvents(run: StreamedRun, subscription: Subscription): AsyncGenerator<RunEvent> {
  const { buffer, values, now } = subscription;
  let waitsForTime = false;
  for (;;) {
    for (const rawEvent of buffer.splice(0)) {
      if (rawEvent.type === 'event') {
        yield await loadEvent(rawEvent, values);
        continue;
      }
      const { idleState, error } = rawEvent;
      if (error !== undefined) throw error;
      if (idleState === 'ended') return;
      if (idleState !== 'running')
        yield pausedEvent(run.runId, now(), idleState, (await run.record()).pauses);
      else if (waitsForTime) yield { type: 'run:resumed', runId: run.runId, atMs: now() };
      if (idleState === 'human') return;
      waitsForTime = idleState === 'time';
    }
    if (buffer.length > 0) continue;
    if (run.stopError) throw run.stopError;
    if (run.hasEnded()) return;
    await subscription.waitForEvent();
  }
}
