import type { RunEvent } from '../types.ts';
import { restEvent, shown } from './events.ts';
import type { RawEvent } from './events.ts';
import type { ActiveRun } from './run.ts';
import type { Values } from './values.ts';

/** What happens in a run from now on; ends when the run does, or when only a person can move it. */
export async function* runEvents(
  run: ActiveRun,
  values: Values,
  now: () => number,
): AsyncGenerator<RunEvent> {
  const queue: RawEvent[] = [];
  let wake: () => void = () => undefined;
  const stop = run.listen((event) => {
    queue.push(event);
    wake();
  });
  try {
    let paused = false;
    for (;;) {
      const raw = queue.shift();
      if (!raw) {
        if (run.ended()) return;
        await new Promise<void>((resolve) => (wake = resolve));
      } else if (raw.type === 'event') yield await shown(raw, values);
      else if (raw.type === 'rest') {
        if (raw.error !== undefined) throw raw.error as Error;
        if (raw.rest === 'ended') return;
        if (raw.rest === 'running') {
          if (paused) yield { type: 'run:resumed', runId: run.runId, atMs: now() };
          paused = false;
        } else {
          paused = true;
          yield restEvent(run.runId, now(), raw.rest, run.record().pauses);
          if (raw.rest === 'human') return;
        }
      }
    }
  } finally {
    stop();
  }
}
