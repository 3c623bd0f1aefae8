import type { RunEvent } from '../../types.ts';
import { restEvent, shown } from '../../records/run-events.ts';
import type { RawEvent } from '../../records/run-events.ts';
import type { ActiveRun } from './active-run.ts';
import type { Values } from '../../records/values.ts';

/**
 * What happens in a run from the call on; ends when the run does, or when only a person can move it. The run never
 * waits for who reads: what is not read yet is kept.
 */
export function runEvents(run: ActiveRun, values: Values, now: () => number): AsyncGenerator<RunEvent> {
  const queue: RawEvent[] = [];
  let wake = (): void => undefined;
  const stop = run.listen((event) => {
    queue.push(event);
    if (event.type === 'rest' && event.rest === 'ended') stop();
    wake();
  });
  const more = (): Promise<void> => new Promise((resolve) => (wake = resolve));
  return read(run, { queue, more, stop, now, values });
}

interface Feed {
  queue: RawEvent[];
  more(): Promise<void>;
  stop(): void;
  now(): number;
  values: Values;
}

async function* read(run: ActiveRun, feed: Feed): AsyncGenerator<RunEvent> {
  const { queue, values } = feed;
  try {
    let paused = false;
    for (;;) {
      for (const raw of queue.splice(0)) {
        if (raw.type === 'event') {
          yield await shown(raw, values);
          continue;
        }
        if (raw.error !== undefined) throw raw.error;
        if (raw.rest === 'ended') return;
        if (raw.rest !== 'running')
          yield restEvent(run.runId, feed.now(), raw.rest, (await run.record()).pauses);
        else if (paused) yield { type: 'run:resumed', runId: run.runId, atMs: feed.now() };
        if (raw.rest === 'human') return;
        paused = raw.rest === 'time';
      }
      if (queue.length > 0) continue;
      if (run.broken) throw run.broken;
      if (run.ended()) return;
      await feed.more();
    }
  } finally {
    feed.stop();
  }
}
