import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { Worker } from 'node:worker_threads';

/** Maximum time for which an attack may block the host's event loop. */
export const MAX_LAG_MS = 250;
const TICK_MS = 20;

/** Durations that Linux counts for a thread, in milliseconds. */
interface ThreadTimes {
  /** How long the thread ran. */
  readonly cpuMs: number;
  /** How long the thread was runnable but waited for a CPU. */
  readonly queuedMs: number;
}

/** A period in which the event loop of a thread was blocked, with the times of the thread in it, in milliseconds. */
interface Stall extends ThreadTimes {
  readonly startMs: number;
  readonly endMs: number;
}

interface StallMonitor {
  /** Returns the periods since the last call, including a current one. */
  take(): Stall[];
  stop(): void;
}

/**
 * Watches how late timers of this thread fire. `startMeasurement` starts to measure the times of the thread, and
 * returns a function that reads them. The source of this function also runs in another thread.
 */
function watchStalls(
  tickMs: number,
  minStallMs: number,
  startMeasurement: () => () => ThreadTimes,
): StallMonitor {
  // Both threads share this clock; `performance` starts per thread.
  const now = (): number => Number(process.hrtime.bigint()) / 1e6;
  let stalls: Stall[] = [];
  let lastCheckMs = now();
  let readTimes = startMeasurement();
  const check = (): void => {
    const nowMs = now();
    if (nowMs - lastCheckMs - tickMs >= minStallMs)
      stalls.push({ startMs: lastCheckMs + tickMs, endMs: nowMs, ...readTimes() });
    lastCheckMs = nowMs;
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

const THREADS_FOLDER = '/proc/self/task';

/** Returns the times of each thread of this process, by thread id. Returns an empty map if there is no /proc. */
function readThreadTimes(): Map<string, ThreadTimes> {
  const times = new Map<string, ThreadTimes>();
  if (!existsSync(THREADS_FOLDER)) return times;
  for (const id of readdirSync(THREADS_FOLDER)) {
    try {
      const [cpuNs, queuedNs] = readFileSync(`${THREADS_FOLDER}/${id}/schedstat`, 'latin1').split(' ');
      times.set(id, { cpuMs: Number(cpuNs) / 1e6, queuedMs: Number(queuedNs) / 1e6 });
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
    const elapsedMs = (id: string, key: keyof ThreadTimes): number =>
      (timesAtEnd.get(id)?.[key] ?? 0) - (timesAtStart.get(id)?.[key] ?? 0);
    // The id of the main thread is that of the process.
    const mainId = String(process.pid);
    const otherIds = [...timesAtEnd.keys()].filter((id) => id !== mainId);
    const longestWaitMs = Math.max(0, ...otherIds.map((id) => elapsedMs(id, 'queuedMs')));
    return { cpuMs: elapsedMs(mainId, 'cpuMs'), queuedMs: elapsedMs(mainId, 'queuedMs') + longestWaitMs };
  };
}

/** The program of a thread that only measures its own lag, which the machine causes. */
const BASELINE_PROGRAM = `
  const { parentPort } = require('node:worker_threads');
  const stalls = (${watchStalls.toString()})(${TICK_MS}, ${TICK_MS}, () => () => ({ cpuMs: 0, queuedMs: 0 }));
  parentPort.on('message', () => parentPort.postMessage(stalls.take()));`;

const overlapMs = (one: Stall, other: Stall): number =>
  Math.max(0, Math.min(one.endMs, other.endMs) - Math.max(one.startMs, other.startMs));

/**
 * Measures the lag of the main thread's event loop, without the part that the machine causes. Time for which the thread
 * ran always counts.
 */
export interface LagMonitor {
  /** Starts a new window. */
  reset(): Promise<void>;
  /** Returns the maximum lag in the window, without the machine's part, in milliseconds. */
  measureLagMs(): Promise<number>;
  stop(): Promise<void>;
}

export function watchLag(): LagMonitor {
  const stallMonitor = watchStalls(TICK_MS, MAX_LAG_MS, measureMainThread);
  const worker = new Worker(BASELINE_PROGRAM, { eval: true });
  worker.unref();

  const readBaseline = (): Promise<readonly Stall[]> =>
    new Promise((resolve) => {
      worker.once('message', resolve);
      worker.postMessage('');
    });

  return {
    async reset() {
      await readBaseline();
      stallMonitor.take();
    },
    async measureLagMs() {
      const ownStalls = stallMonitor.take();
      const baselineStalls = await readBaseline();
      const lags = ownStalls.map((stall) => {
        const machineMs = baselineStalls.reduce((ms, other) => ms + overlapMs(stall, other), 0);
        return Math.max(stall.cpuMs, stall.endMs - stall.startMs - Math.max(machineMs, stall.queuedMs));
      });
      return Math.round(Math.max(0, ...lags));
    },
    async stop() {
      stallMonitor.stop();
      await worker.terminate();
    },
  };
}
