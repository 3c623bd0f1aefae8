import { setTimeout as delay } from 'node:timers/promises';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';

/** Interval at which a run that has not started is polled. */
const POLL_MS = 100;
/** Minimum time between two reports. */
const REPORT_INTERVAL_MS = 100;
/**
 * Matches the beginning of the line for a block that has ended. The line is not parsed, because it contains the output
 * of the block.
 */
const BLOCK_ENDED_PATTERN = /^data: \{"type":"block:(?:completed|error)"/;

/** The run whose progress is reported, and how it is reported. */
interface ProgressOptions {
  workflowId: string;
  runId: string;
  /** Sends a request of the caller to the API. */
  callApi: (path: string) => Promise<Response>;
  /** Aborted when the run has ended. */
  signal: AbortSignal;
  /** Receives the number of block executions that have ended, at most ten times per second. The numbers increase. */
  report: (endedCount: number) => Promise<void>;
  /** Receives the error that ends the reporting before the run ends. */
  onError: (error: unknown) => void;
}

/** Reports the progress of a run until the run ends, if the caller may read it. Never rejects. */
export async function reportProgress(options: ProgressOptions): Promise<void> {
  try {
    const body = await openEventStream(options);
    if (body) await reportEndedBlocks(body, options);
  } catch (error) {
    if (!options.signal.aborted) options.onError(error);
  }
}

/** Resolves with the event stream of the run when the run has started; undefined if the caller may not read it. */
async function openEventStream(options: ProgressOptions): Promise<ReadableStream | undefined> {
  const { workflowId, runId, callApi, signal } = options;
  const path = `/api/workflows/${encodeURIComponent(workflowId)}/executions/${runId}/stream?from=0`;
  for (;;) {
    const response = await callApi(path);
    if (response.ok && response.body) return response.body as ReadableStream;
    await response.body?.cancel();
    if (response.status !== 404) return undefined;
    await delay(POLL_MS, undefined, { signal });
  }
}

async function reportEndedBlocks(body: ReadableStream, { signal, report }: ProgressOptions): Promise<void> {
  const input = Readable.fromWeb(body, { signal });
  let endedCount = 0;
  let lastReportMs = 0;
  for await (const line of createInterface({ input })) {
    if (!BLOCK_ENDED_PATTERN.test(line)) continue;
    endedCount += 1;
    if (Date.now() - lastReportMs < REPORT_INTERVAL_MS) continue;
    lastReportMs = Date.now();
    await report(endedCount);
  }
}
