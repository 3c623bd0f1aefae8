import { setTimeout as delay } from 'node:timers/promises';
import { withEngine } from '../engine-session.ts';
import { EXIT } from '../exit-code.ts';
import { writeJson } from '../io.ts';
import type { Io } from '../io.ts';
import { OTHER_PROCESS, tryAsOwner } from '../try-as-owner.ts';
import { isOnTemporal, withFolderClient, withReader } from '../store-options.ts';
import type { RuntimeOptions } from '../store-options.ts';
import { styleFor } from '../render/style.ts';
import { findRunId, shortId } from '../run-id.ts';
import { UsageError } from '../usage-error.ts';

export interface CancelOptions extends RuntimeOptions {
  reason?: string;
  json: boolean;
}

const RESPONSE_TIMEOUT_MS = 10_000;

/** Cancels a run, directly or through the process that owns the data folder. */
export async function cancelRun(io: Io, id: string, options: CancelOptions): Promise<number> {
  const onTemporal = isOnTemporal(options);
  const runId = await withReader(options, (reader) => findRunId(reader, id, options));
  const cancel = (): Promise<boolean> =>
    // A worker in this process would execute runs without the environment of the other workers.
    withEngine(
      io,
      { ...options, ...(onTemporal && { worker: false }), env: {}, recover: false },
      (engine) => {
        const cancellation = engine.cancel(runId, options.reason);
        return onTemporal ? withTimeout(cancellation) : cancellation;
      },
    );
  const result = onTemporal ? await cancel() : await tryAsOwner(cancel);
  const isCancelled = result === OTHER_PROCESS ? await requestCancel(runId, options) : result;
  const run = await withReader(options, (reader) => reader.getRun(runId));
  if (!isCancelled) throw new UsageError(`Run ${shortId(runId)} has already ended: it is ${run.status}.`);
  if (options.json) writeJson(io, { data: run });
  else io.stderr.write(`${styleFor(io.stderr).yellow('○')} Cancelled run ${shortId(runId)}.\n`);
  return EXIT.completed;
}

/** Waits for the workers to cancel a run. Throws a usage error after `RESPONSE_TIMEOUT_MS`. */
async function withTimeout(cancellation: Promise<boolean>): Promise<boolean> {
  const timeoutController = new AbortController();
  const timeout = delay(RESPONSE_TIMEOUT_MS, undefined, { signal: timeoutController.signal }).then(() => {
    throw new UsageError(
      'No worker has cancelled the run yet. The request is stored on the server, and the next worker cancels the run.',
    );
  });
  try {
    return await Promise.race([cancellation, timeout]);
  } finally {
    timeoutController.abort();
    // The promise that lost the race may still reject.
    for (const promise of [cancellation, timeout]) promise.catch(() => undefined);
  }
}

async function requestCancel(runId: string, { data, reason }: CancelOptions): Promise<boolean> {
  const payload = reason === undefined ? {} : { reason };
  const reply = await withFolderClient(data, (client) =>
    client.request({ runId, kind: 'cancel', payload }, RESPONSE_TIMEOUT_MS),
  );
  if (reply.status === 'rejected') throw new UsageError(reply.message);
  if (reply.status === 'waiting') {
    throw new UsageError(
      'The process that owns the data folder has not responded yet. The request is stored, and that process or the next one cancels the run.',
    );
  }
  return (reply.value as { cancelled?: boolean }).cancelled === true;
}
