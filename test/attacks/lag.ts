import { readFileSync } from 'node:fs';
import { Worker } from 'node:worker_threads';

/** Maximum time for which an attack may block the host's event loop. */
export const MOST_LAG_MS = 250;
const TICK_MS = 10;

/** A period in which a thread's event loop did not turn, in milliseconds. */
interface Stall {
  readonly from: number;
  readonly to: number;
  /** The part of it in which the thread was runnable but got no processor. */
  readonly queuedMs: number;
}

interface Stalls {
  /** Returns the periods since the last call, including a current one. */
  take(): Stall[];
  stop(): void;
}

/**
 * Watches how late timers of this thread come. `queuedMs` tells how long it has waited for a processor so far. Its text is run in
 * another thread as well.
 */
function watchStalls(tickMs: number, leastMs: number, queuedMs: () => number): Stalls {
  // Both threads share this clock; `performance` starts per thread.
  const now = (): number => Number(process.hrtime.bigint()) / 1e6;
  let stalls: Stall[] = [];
  let last = now();
  let queued = queuedMs();
  const look = (): void => {
    const at = now();
    const queuedNow = queuedMs();
    if (at - last - tickMs >= leastMs)
      stalls.push({ from: last + tickMs, to: at, queuedMs: queuedNow - queued });
    last = at;
    queued = queuedNow;
  };
  const timer = setInterval(look, tickMs);
  timer.unref();
  return {
    take() {
      look();
      const taken = stalls;
      stalls = [];
      return taken;
    },
    stop: () => clearInterval(timer),
  };
}

/** Time for which this thread was runnable without a processor, in milliseconds; 0 if unknown. */
function queuedMs(): number {
  try {
    return Number(readFileSync('/proc/thread-self/schedstat', 'latin1').split(' ')[1]) / 1e6;
  } catch {
    return 0;
  }
}

/** A thread that only measures its own lag, which is caused by the machine. */
const BASELINE = `
  const { parentPort } = require('node:worker_threads');
  const stalls = (${watchStalls.toString()})(${TICK_MS}, ${TICK_MS}, () => 0);
  parentPort.on('message', () => parentPort.postMessage(stalls.take()));`;

const overlap = (one: Stall, other: Stall): number =>
  Math.max(0, Math.min(one.to, other.to) - Math.max(one.from, other.from));

/** Measures the lag of this thread's event loop, without the part that the machine causes. */
export interface LagMonitor {
  /** Starts a new window. */
  reset(): Promise<void>;
  /** Returns the maximum lag in the window, without the machine's part, in milliseconds. */
  lagMs(): Promise<number>;
  stop(): Promise<void>;
}

export function watchLag(): LagMonitor {
  const stalls = watchStalls(TICK_MS, MOST_LAG_MS, queuedMs);
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
        const kept = others.reduce((ms, other) => ms + overlap(stall, other), 0);
        return stall.to - stall.from - Math.max(kept, stall.queuedMs);
      });
      return Math.round(Math.max(0, ...lags));
    },
    async stop() {
      stalls.stop();
      await worker.terminate();
    },
  };
}
