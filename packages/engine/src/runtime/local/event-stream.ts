import { loadEvent, pausedEvent } from '../../records/run-events.ts';
import type { RawEvent } from '../../records/run-events.ts';
import type { Values } from '../../records/values.ts';
import type { RunEvent } from '../../types.ts';
import type { ActiveRun } from './active-run.ts';

/**
 * Returns the events of a run from the call on. The stream ends when the run has ended or only a person can continue it.
 * The run never waits for readers: unread events are buffered.
 */
export function runEvents(run: ActiveRun, values: Values, now: () => number): AsyncGenerator<RunEvent> {
  const buffer: RawEvent[] = [];
  let wake = (): void => undefined;
  const stop = run.listen((event) => {
    buffer.push(event);
    if (event.type === 'idle-state' && event.idleState === 'ended') stop();
    wake();
  });
  const nextEvent = (): Promise<void> => new Promise((resolve) => (wake = resolve));
  return read(run, { buffer, nextEvent, stop, now, values });
}

interface Subscription {
  buffer: RawEvent[];
  nextEvent(): Promise<void>;
  stop(): void;
  now(): number;
  values: Values;
}

async function* read(run: ActiveRun, subscription: Subscription): AsyncGenerator<RunEvent> {
  const { buffer, values } = subscription;
  try {
    let waitsForTime = false;
    for (;;) {
      for (const raw of buffer.splice(0)) {
        if (raw.type === 'event') {
          yield await loadEvent(raw, values);
          continue;
        }
        const { idleState, error } = raw;
        if (error !== undefined) throw error;
        if (idleState === 'ended') return;
        if (idleState !== 'running')
          yield pausedEvent(run.runId, subscription.now(), idleState, (await run.record()).pauses);
        else if (waitsForTime) yield { type: 'run:resumed', runId: run.runId, atMs: subscription.now() };
        if (idleState === 'human') return;
        waitsForTime = idleState === 'time';
      }
      if (buffer.length > 0) continue;
      if (run.stopError) throw run.stopError;
      if (run.ended()) return;
      await subscription.nextEvent();
    }
  } finally {
    subscription.stop();
  }
}
