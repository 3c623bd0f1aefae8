import { setTimeout as delay } from 'node:timers/promises';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';

/** Time until a run that has not started is requested again. */
const START_MS = 100;
/** Minimum time between two reports. */
const INTERVAL_MS = 100;
/** Beginnings of the lines of blocks that have ended. Outputs that follow are not read. */
const ENDED = /^data: \{"type":"block:(?:completed|error)"/;

/** A run whose progress is reported. */
interface Followed {
  workflowId: string;
  runId: string;
  /** Sends a request of the caller to the API. */
  ask: (path: string) => Promise<Response>;
  /** Aborted when the run has ended. */
  signal: AbortSignal;
  /** Receives how many executions of blocks have ended, at most ten times per second. The numbers increase. */
  report: (ended: number) => Promise<void>;
  /** Receives the error that ends the reporting before the run ends. */
  onError: (error: unknown) => void;
}

/** Reports the progress of a run until it ends, if its caller may read it. Never rejects. */
export async function reportProgress(run: Followed): Promise<void> {
  try {
    const body = await opened(run);
    if (body) await followed(body, run);
  } catch (error) {
    if (!run.signal.aborted) run.onError(error);
  }
}

/** Returns the stream of events, once the run has started; undefined if the caller may not read it. */
async function opened({ workflowId, runId, ask, signal }: Followed): Promise<ReadableStream | undefined> {
  const path = `/api/workflows/${encodeURIComponent(workflowId)}/executions/${runId}/stream?from=0`;
  for (;;) {
    const answer = await ask(path);
    if (answer.ok && answer.body) return answer.body as ReadableStream;
    await answer.body?.cancel();
    if (answer.status !== 404) return undefined;
    await delay(START_MS, undefined, { signal });
  }
}

async function followed(body: ReadableStream, { signal, report }: Followed): Promise<void> {
  const input = Readable.fromWeb(body, { signal });
  let ended = 0;
  let lastMs = 0;
  for await (const line of createInterface({ input })) {
    if (!ENDED.test(line)) continue;
    ended += 1;
    if (Date.now() - lastMs < INTERVAL_MS) continue;
    lastMs = Date.now();
    await report(ended);
  }
}
