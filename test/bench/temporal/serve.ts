import { performance } from 'node:perf_hooks';
import { readCpuMs, serve } from '../ipc.ts';
import type { Job, ProcessSetup, Contender } from './contender.ts';

/** Requests of the benchmark to a process, and their responses. */
export type Request =
  | { open: ProcessSetup; contender: 'heddle' | 'baseline' }
  | { runs: number; concurrency: number; job: Job }
  | { pausedRuns: number; concurrency: number }
  | 'cpu'
  | 'memory'
  | 'close';
export type Reply = RunTimes | { value: number } | 'done' | { errorMessage: string };

/** Milliseconds of each run, and of all runs together. */
export interface RunTimes {
  runsMs: number[];
  durationMs: number;
}

const CONTENDERS = { heddle: () => import('./heddle.ts'), baseline: () => import('./baseline.ts') } as const;

let contender: Contender | undefined;

async function handleRequest(request: Request): Promise<Reply> {
  if (request === 'cpu') return { value: readCpuMs() };
  if (request === 'memory') return { value: readMemoryMb() };
  if (request === 'close') {
    await contender?.close();
    return 'done';
  }
  if ('open' in request) {
    contender = await (await CONTENDERS[request.contender]()).open(request.open);
    return 'done';
  }
  const runOnce = 'job' in request ? () => contender?.run(request.job) : () => contender?.startPausedRun();
  return repeat('job' in request ? request.runs : request.pausedRuns, request.concurrency, runOnce);
}

function readMemoryMb(): number {
  // Garbage does not count as memory of runs.
  globalThis.gc?.();
  globalThis.gc?.();
  return process.memoryUsage.rss() / 1024 ** 2;
}

/** Calls `runOnce` `count` times, at most `concurrency` at a time. */
async function repeat(
  count: number,
  concurrency: number,
  runOnce: () => Promise<void> | undefined,
): Promise<RunTimes> {
  const runsMs: number[] = [];
  let remaining = count;
  const runUntilDone = async (): Promise<void> => {
    while (remaining > 0) {
      remaining--;
      const startMs = performance.now();
      await runOnce();
      runsMs.push(performance.now() - startMs);
    }
  };
  const startMs = performance.now();
  await Promise.all(Array.from({ length: Math.min(count, concurrency) }, runUntilDone));
  return { runsMs, durationMs: performance.now() - startMs };
}

serve(handleRequest);
