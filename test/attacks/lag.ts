import { Worker } from 'node:worker_threads';

/** The most an attack may hold up the host's event loop. */
export const MOST_LAG_MS = 250;
const TICK_MS = 10;

/** How late timers come. Unlike the histogram of perf_hooks it sees a stall that begins with the window. */
interface Ticks {
  reset(): void;
  readonly maxMs: number;
  stop(): void;
}

function watchTicks(tickMs: number): Ticks {
  let maxMs = 0;
  let lastMs = performance.now();
  const timer = setInterval(() => {
    const nowMs = performance.now();
    maxMs = Math.max(maxMs, nowMs - lastMs - tickMs);
    lastMs = nowMs;
  }, tickMs);
  timer.unref();
  return {
    reset() {
      maxMs = 0;
      lastMs = performance.now();
    },
    get maxMs() {
      return maxMs;
    },
    stop: () => clearInterval(timer),
  };
}

/** A thread that does nothing but measure how late it is called: what the machine, and not our code, makes late. */
const BASELINE = `
  const { parentPort } = require('node:worker_threads');
  const ticks = (${watchTicks.toString()})(${TICK_MS});
  parentPort.on('message', () => {
    parentPort.postMessage(ticks.maxMs);
    ticks.reset();
  });`;

/** How late this thread's event loop was, as far as that is this thread's own doing. */
export interface LagMonitor {
  /** Begins a new window. */
  reset(): Promise<void>;
  /** The greatest lag in the window in milliseconds, less what the machine explains. */
  lagMs(): Promise<number>;
  stop(): Promise<void>;
}

export function watchLag(): LagMonitor {
  const ticks = watchTicks(TICK_MS);
  const worker = new Worker(BASELINE, { eval: true });
  worker.unref();
  let cpuBefore = process.threadCpuUsage();

  const baselineMs = (): Promise<number> =>
    new Promise((resolve) => {
      worker.once('message', resolve);
      worker.postMessage('');
    });

  return {
    async reset() {
      await baselineMs();
      ticks.reset();
      cpuBefore = process.threadCpuUsage();
    },
    async lagMs() {
      // A stall is measured when the loop turns again, where the overdue timer comes first.
      await new Promise((resolve) => setTimeout(resolve, 1));
      const measuredMs = ticks.maxMs;
      if (measuredMs < MOST_LAG_MS) return measuredMs;
      const { user, system } = process.threadCpuUsage(cpuBefore);
      // A thread that computed for less time than it was late was kept waiting by the machine.
      return Math.min(measuredMs - (await baselineMs()), (user + system) / 1e3);
    },
    async stop() {
      ticks.stop();
      await worker.terminate();
    },
  };
}
