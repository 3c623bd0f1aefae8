import { performance } from 'node:perf_hooks';
import { cpuMs, serve } from '../process-channel.ts';
import type { Job, ProcessSetup, Contender } from './contender.ts';

/** Requests of the benchmark to a process, and their responses. */
export type Request =
  | { open: ProcessSetup; contender: 'heddle' | 'baseline' }
  | { runs: number; inFlight: number; job: Job }
  | { pauses: number; inFlight: number }
  | 'cpu'
  | 'memory'
  | 'close';
export type Reply = Took | { used: number } | 'done' | { failed: string };

/** Milliseconds of each run and of all together. */
export interface Took {
  runsMs: number[];
  tookMs: number;
}

const CONTENDERS = { heddle: () => import('./heddle.ts'), baseline: () => import('./baseline.ts') } as const;

let contender: Contender | undefined;

async function answer(request: Request): Promise<Reply> {
  if (request === 'cpu') return { used: cpuMs() };
  if (request === 'memory') return { used: memoryMb() };
  if (request === 'close') {
    await contender?.close();
    return 'done';
  }
  if ('open' in request) {
    contender = await (await CONTENDERS[request.contender]()).open(request.open);
    return 'done';
  }
  const one = 'job' in request ? () => contender?.run(request.job) : () => contender?.pause();
  return repeated('job' in request ? request.runs : request.pauses, request.inFlight, one);
}

function memoryMb(): number {
  // Garbage does not count as memory of runs.
  globalThis.gc?.();
  globalThis.gc?.();
  return process.memoryUsage.rss() / 1024 ** 2;
}

/** Calls `one` `count` times, with bounded concurrency. */
async function repeated(
  count: number,
  inFlight: number,
  one: () => Promise<void> | undefined,
): Promise<Took> {
  const runsMs: number[] = [];
  let left = count;
  const line = async (): Promise<void> => {
    while (left > 0) {
      left--;
      const from = performance.now();
      await one();
      runsMs.push(performance.now() - from);
    }
  };
  const from = performance.now();
  await Promise.all(Array.from({ length: Math.min(count, inFlight) }, line));
  return { runsMs, tookMs: performance.now() - from };
}

serve(answer);
