import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { Worker } from 'node:worker_threads';

/** Maximum time for which an attack may block the host's event loop. */
export const MAX_LAG_MS = 250;
const TICK_MS = 20;

/** Durations that Linux counts for a thread, in milliseconds. */
interface ThreadTimes {
  /** How long the thread ran. */
  readonly ranMs: number;
  /** How long the thread was runnable but waited for a CPU. */
  readonly queuedMs: number;
}

/** A period in which the event loop of a thread was blocked, with the times of the thread in it, in milliseconds. */
interface Stall extends ThreadTimes {
  readonly from: number;
  readonly to: number;
}

interface Stalls {
  /** Returns the periods since the last call, including a current one. */
  take(): Stall[];
  stop(): void;
}

/**
 * Watches how late timers of this thread fire. `startMeasurement` starts to measure the times of the thread, and
 * returns a function that reads them. The source of this function also runs in another thread.
 */
function watchStalls(tickMs: number, minStallMs: number, startMeasurement: () => () => ThreadTimes): Stalls {
  // Both threads share this clock; `performance` starts per thread.
  const now = (): number => Number(process.hrtime.bigint()) / 1e6;
  let stalls: Stall[] = [];
  let last = now();
  let readTimes = startMeasurement();
  const check = (): void => {
    const nowMs = now();
    if (nowMs - last - tickMs >= minStallMs) stalls.push({ from: last + tickMs, to: nowMs, ...readTimes() });
    last = nowMs;
    readTimes = startMeasurement();
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

/** Returns the times of each thread of this process, by thread id. Returns an empty map if there is no /proc. */
function readThreadTimes(): Map<string, ThreadTimes> {
  const times = new Map<string, ThreadTimes>();
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

/**
 * Starts a measurement of the main thread. `queuedMs` includes the longest wait of another thread, because the main
 * thread may have waited for that thread: V8 collects garbage in several threads.
 */
function measureMainThread(): () => ThreadTimes {
  const timesAtStart = readThreadTimes();
  return () => {
    const timesAtEnd = readThreadTimes();
    const since = (id: string, key: keyof ThreadTimes): number =>
      (timesAtEnd.get(id)?.[key] ?? 0) - (timesAtStart.get(id)?.[key] ?? 0);
    // The id of the main thread is that of the process.
    const mainId = String(process.pid);
    const otherIds = [...timesAtEnd.keys()].filter((id) => id !== mainId);
    const longestWaitMs = Math.max(0, ...otherIds.map((id) => since(id, 'queuedMs')));
    return { ranMs: since(mainId, 'ranMs'), queuedMs: since(mainId, 'queuedMs') + longestWaitMs };
  };
}

/** The program of a thread that only measures its own lag, which the machine causes. */
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
  const stalls = watchStalls(TICK_MS, MAX_LAG_MS, measureMainThread);
  const worker = new Worker(BASELINE, { eval: true });
  worker.unref();

  const readBaseline = (): Promise<readonly Stall[]> =>
    new Promise((resolve) => {
      worker.once('message', resolve);
      worker.postMessage('');
    });

  return {
    async reset() {
      await readBaseline();
      stalls.take();
    },
    async lagMs() {
      const ownStalls = stalls.take();
      const baselineStalls = await readBaseline();
      const lags = ownStalls.map((stall) => {
        const machineMs = baselineStalls.reduce((ms, other) => ms + overlap(stall, other), 0);
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
