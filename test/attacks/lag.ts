import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Worker } from 'node:worker_threads';

/** The most an attack may hold up the host's event loop. */
export const MOST_LAG_MS = 250;

/** A thread that does nothing but measure how late it is called: what the machine, and not our code, makes late. */
const BASELINE = `
  const { parentPort } = require('node:worker_threads');
  const delay = require('node:perf_hooks').monitorEventLoopDelay({ resolution: 10 });
  delay.enable();
  parentPort.on('message', () => {
    parentPort.postMessage(delay.max / 1e6);
    delay.reset();
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
  const delay = monitorEventLoopDelay({ resolution: 10 });
  const worker = new Worker(BASELINE, { eval: true });
  worker.unref();
  delay.enable();
  let cpuBefore = process.threadCpuUsage();

  const baselineMs = (): Promise<number> =>
    new Promise((resolve) => {
      worker.once('message', resolve);
      worker.postMessage('');
    });

  return {
    async reset() {
      await baselineMs();
      delay.reset();
      cpuBefore = process.threadCpuUsage();
    },
    async lagMs() {
      // The delay is taken when the loop turns again, which after a stall it first has to.
      await new Promise((resolve) => setTimeout(resolve, 1));
      const measuredMs = delay.max / 1e6;
      if (measuredMs < MOST_LAG_MS) return measuredMs;
      const { user, system } = process.threadCpuUsage(cpuBefore);
      // A thread that computed for less time than it was late was kept waiting by the machine.
      return Math.min(measuredMs - (await baselineMs()), (user + system) / 1e3);
    },
    async stop() {
      delay.disable();
      await worker.terminate();
    },
  };
}
