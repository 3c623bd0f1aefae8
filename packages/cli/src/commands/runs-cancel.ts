import { setTimeout as delay } from 'node:timers/promises';
import { withEngine } from '../engine-session.ts';
import { EXIT } from '../exit-code.ts';
import { writeJson } from '../io.ts';
import type { Io } from '../io.ts';
import { ELSEWHERE, orElsewhere } from '../owner.ts';
import { isOnTemporal, withReader } from '../place.ts';
import type { PlaceOptions } from '../place.ts';
import { styleFor } from '../render/style.ts';
import { findRunId, shortId } from '../run-id.ts';
import { UsageError } from '../usage-error.ts';
import { withFolderClient } from '../with-folder-client.ts';

export interface CancelOptions extends PlaceOptions {
  reason?: string;
  json: boolean;
}

const ANSWER_MS = 10_000;

/** Cancels a run: itself when nobody runs the folder, else by asking the process that does. */
export async function cancelRun(io: Io, given: string, options: CancelOptions): Promise<number> {
  const onTemporal = isOnTemporal(options);
  const runId = await withReader(options, (reader) => findRunId(reader, given, options));
  const cancel = (): Promise<boolean> =>
    // A worker here would run what others are to run, without their environment.
    withEngine(io, { ...options, ...(onTemporal && { worker: false }), env: {}, takeUp: false }, (engine) => {
      const cancelled = engine.cancel(runId, options.reason);
      return onTemporal ? within(cancelled) : cancelled;
    });
  const here = onTemporal ? await cancel() : await orElsewhere(cancel);
  const cancelled = here === ELSEWHERE ? await ask(runId, options) : here;
  const run = await withReader(options, (reader) => reader.getRun(runId));
  if (!cancelled) throw new UsageError(`Run ${shortId(runId)} had ended before: it is ${run.status}.`);
  if (options.json) writeJson(io, { data: run });
  else io.stderr.write(`${styleFor(io.stderr).yellow('○')} Cancelled run ${shortId(runId)}.\n`);
  return EXIT.completed;
}

/** What the workers have made of a cancel that the server knows of. */
async function within(cancelled: Promise<boolean>): Promise<boolean> {
  const late = new AbortController();
  const over = delay(ANSWER_MS, undefined, { signal: late.signal }).then(() => {
    throw new UsageError(
      'No worker has carried it out yet. The server has the request: the next worker will cancel the run.',
    );
  });
  try {
    return await Promise.race([cancelled, over]);
  } finally {
    late.abort();
    // Whichever of the two is left has nobody to tell.
    for (const left of [cancelled, over]) left.catch(() => undefined);
  }
}

async function ask(runId: string, { data, reason }: CancelOptions): Promise<boolean> {
  const payload = reason === undefined ? {} : { reason };
  const answer = await withFolderClient(data, (client) =>
    client.request({ runId, kind: 'cancel', payload }, ANSWER_MS),
  );
  if (answer.status === 'rejected') throw new UsageError(answer.message);
  if (answer.status === 'waiting') {
    throw new UsageError(
      'The process that runs the folder has not answered yet. The request stays: it, or the next one, will cancel the run.',
    );
  }
  return (answer.value as { cancelled?: boolean }).cancelled === true;
}
