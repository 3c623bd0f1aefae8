import { performance } from 'node:perf_hooks';
import { cpuMs, serve } from '../served.ts';
import type { Job, Place, Side } from './side.ts';

/** What the bench asks of a process, and what that answers. */
export type Request =
  | { open: Place; side: 'heddle' | 'hand' }
  | { runs: number; inFlight: number; job: Job }
  | { pauses: number; inFlight: number }
  | 'cpu'
  | 'memory'
  | 'close';
export type Reply = Took | { used: number } | 'done' | { failed: string };

/** Milliseconds of each run, and of all of them together. */
export interface Took {
  runsMs: number[];
  tookMs: number;
}

const SIDES = { heddle: () => import('./heddle.ts'), hand: () => import('./hand.ts') } as const;

let side: Side | undefined;

async function answer(request: Request): Promise<Reply> {
  if (request === 'cpu') return { used: cpuMs() };
  if (request === 'memory') return { used: memoryMb() };
  if (request === 'close') {
    await side?.close();
    return 'done';
  }
  if ('open' in request) {
    side = await (await SIDES[request.side]()).open(request.open);
    return 'done';
  }
  const one = 'job' in request ? () => side?.run(request.job) : () => side?.pause();
  return repeated('job' in request ? request.runs : request.pauses, request.inFlight, one);
}

function memoryMb(): number {
  // What is garbage already is no memory of runs.
  globalThis.gc?.();
  globalThis.gc?.();
  return process.memoryUsage.rss() / 1024 ** 2;
}

/** `count` times `one`, so many of them at once. */
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
