import { readFileSync } from 'node:fs';
import { Worker } from 'node:worker_threads';

/** The most an attack may hold up the host's event loop. */
export const MOST_LAG_MS = 250;
const TICK_MS = 10;

/** A time in which a thread's loop did not turn, in milliseconds of the system's clock. */
interface Stall {
  readonly from: number;
  readonly to: number;
  /** Of it, how long the thread could have run and was given no processor. */
  readonly queuedMs: number;
}

interface Stalls {
  /** Those since the last call, and what there is of one that ends with this call. */
  take(): Stall[];
  stop(): void;
}

/**
 * Watches how late timers of this thread come. `queuedMs` tells how long it has waited for a processor so far. Its text is run in
 * another thread as well.
 */
function watchStalls(tickMs: number, leastMs: number, queuedMs: () => number): Stalls {
  // Both threads have this clock; those of `performance` begin with each.
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

/** How long this thread was ready to run without a processor, in milliseconds; 0 where the system does not tell. */
function queuedMs(): number {
  try {
    return Number(readFileSync('/proc/thread-self/schedstat', 'latin1').split(' ')[1]) / 1e6;
  } catch {
    return 0;
  }
}

/** A thread that does nothing but measure how late it is called: what keeps it waiting too is the machine. */
const BASELINE = `
  const { parentPort } = require('node:worker_threads');
  const stalls = (${watchStalls.toString()})(${TICK_MS}, ${TICK_MS}, () => 0);
  parentPort.on('message', () => parentPort.postMessage(stalls.take()));`;

const overlap = (one: Stall, other: Stall): number =>
  Math.max(0, Math.min(one.to, other.to) - Math.max(one.from, other.from));

/** How late this thread's event loop was, as far as that is this thread's own doing: its work, or its waiting for something. */
export interface LagMonitor {
  /** Begins a new window. */
  reset(): Promise<void>;
  /** The greatest lag in the window in milliseconds, less what the machine explains. */
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
