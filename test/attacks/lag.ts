import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { Worker } from 'node:worker_threads';

/** Maximum time for which an attack may block the host's event loop. */
export const MAX_LAG_MS = 250;
const TICK_MS = 20;

/** Times of a thread as counted by Linux, in milliseconds. */
interface Counts {
  /** Time for which this thread ran. */
  readonly ranMs: number;
  /**
   * Time for which this thread, or a thread that it may have waited for, was runnable but got no processor. V8 collects
   * garbage in several threads.
   */
  readonly queuedMs: number;
}

/** A period in which the event loop of a thread was blocked, in milliseconds, with the counts for it. */
interface Stall extends Counts {
  readonly from: number;
  readonly to: number;
}

interface Stalls {
  /** Returns the periods since the last call, including a current one. */
  take(): Stall[];
  stop(): void;
}

/**
 * Watches how late timers of this thread fire. `count` starts a count, and returns a function that reads it. The
 * source of this function also runs in another thread.
 */
function watchStalls(tickMs: number, minStallMs: number, count: () => () => Counts): Stalls {
  // Both threads share this clock; `performance` starts per thread.
  const now = (): number => Number(process.hrtime.bigint()) / 1e6;
  let stalls: Stall[] = [];
  let last = now();
  let readCount = count();
  const check = (): void => {
    const nowMs = now();
    if (nowMs - last - tickMs >= minStallMs) stalls.push({ from: last + tickMs, to: nowMs, ...readCount() });
    last = nowMs;
    readCount = count();
  };
  const timer = setInterval(check, tickMs);
  timer.unref();
  return {
    take() {
      check();
      const result = stalls;
      stalls = [];
      return result;
    },
    stop: () => clearInterval(timer),
  };
}

const THREADS = '/proc/self/task';

/** Returns the run time and the wait for a processor of each thread of this process. Empty if there is no /proc. */
function threadTimes(): Map<string, { readonly ranMs: number; readonly queuedMs: number }> {
  const times = new Map<string, { ranMs: number; queuedMs: number }>();
  if (!existsSync(THREADS)) return times;
  for (const id of readdirSync(THREADS)) {
    try {
      const [ran, queued] = readFileSync(`${THREADS}/${id}/schedstat`, 'latin1').split(' ');
      times.set(id, { ranMs: Number(ran) / 1e6, queuedMs: Number(queued) / 1e6 });
    } catch {
      // The thread has ended.
    }
  }
  return times;
}

function countTimes(): () => Counts {
  const startTimes = threadTimes();
  return () => {
    const endTimes = threadTimes();
    const since = (id: string, what: keyof Counts): number =>
      (endTimes.get(id)?.[what] ?? 0) - (startTimes.get(id)?.[what] ?? 0);
    // The id of the main thread is that of the process.
    const own = String(process.pid);
    const others = [...endTimes.keys()].filter((id) => id !== own).map((id) => since(id, 'queuedMs'));
    return { ranMs: since(own, 'ranMs'), queuedMs: since(own, 'queuedMs') + Math.max(0, ...others) };
  };
}

/** A thread that only measures its own lag, which is caused by the machine. */
const BASELINE = `
  const { parentPort } = require('node:worker_threads');
  const stalls = (${watchStalls.toString()})(${TICK_MS}, ${TICK_MS}, () => () => ({ ranMs: 0, queuedMs: 0 }));
  parentPort.on('message', () => parentPort.postMessage(stalls.take()));`;

const overlap = (one: Stall, other: Stall): number =>
  Math.max(0, Math.min(one.to, other.to) - Math.max(one.from, other.from));

/**
 * Measures the lag of the main thread's event loop, without the part that the machine causes. Time for which the thread
 * ran always counts.
 */
export interface LagMonitor {
  /** Starts a new window. */
  reset(): Promise<void>;
  /** Returns the maximum lag in the window, without the machine's part, in milliseconds. */
  lagMs(): Promise<number>;
  stop(): Promise<void>;
}

export function watchLag(): LagMonitor {
  const stalls = watchStalls(TICK_MS, MAX_LAG_MS, countTimes);
  const worker = new Worker(BASELINE, { eval: true });
  worker.unref();

  const baseline = (): Promise<readonly Stall[]> =>
    new Promise((resolve) => {
      worker.once('message', resolve);
      worker.postMessage('');
    });

  return {
    async reset() {
      await baseline();
      stalls.take();
    },
    async lagMs() {
      const own = stalls.take();
      const others = await baseline();
      const lags = own.map((stall) => {
        const machineMs = others.reduce((ms, other) => ms + overlap(stall, other), 0);
        return Math.max(stall.ranMs, stall.to - stall.from - Math.max(machineMs, stall.queuedMs));
      });
      return Math.round(Math.max(0, ...lags));
    },
    async stop() {
      stalls.stop();
      await worker.terminate();
    },
  };
}
