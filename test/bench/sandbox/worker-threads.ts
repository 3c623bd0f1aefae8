import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { BENCH_FOLDER } from '../peer.ts';
import { expectResult } from '../workload.ts';
import type { Contender, MeasuredWorkload } from '../workload.ts';
import { CODE, expectValues, expressionsOf, INPUT, PACKAGES_CODE, RESULT } from './code.ts';
import { programWorkloads } from './program.ts';

const PROGRAM = `
const { createRequire } = require('node:module');
const { parentPort, workerData: { codes, n, from } } = require('node:worker_threads');
const packageRequire = createRequire(from);
parentPort.postMessage(codes.map((code) => new Function('n', 'require', code)(n, packageRequire)));`;

/** Runs the function bodies `codes` in one new thread and returns their results. */
async function runInThread(codes: readonly string[]): Promise<number[]> {
  const worker = new Worker(PROGRAM, { eval: true, workerData: { codes, n: INPUT, from: BENCH_FOLDER } });
  const [values] = (await once(worker, 'message')) as [number[]];
  await worker.terminate();
  return values;
}

async function runOnce(code: string): Promise<void> {
  expectResult((await runInThread([code]))[0], RESULT);
}

/** Measures the milliseconds for `size` executions, two at a time, extrapolated from those that fit into a sample. */
function twoThreads(size: number): MeasuredWorkload {
  return {
    async sample(sampleMs) {
      const startMs = performance.now();
      let executions = 0;
      const runUntilEnd = async (): Promise<void> => {
        for (; performance.now() - startMs < sampleMs; executions++) await runOnce(CODE);
      };
      await Promise.all([runUntilEnd(), runUntilEnd()]);
      return ((performance.now() - startMs) / executions) * size;
    },
  };
}

/** A thread for each execution, with full access to Node.js: no boundary against hostile code. */
export const contender: Contender = {
  ...programWorkloads({ url: import.meta.url }),
  sandbox: () => ({ once: () => runOnce(CODE) }),
  'sandbox on two cores': twoThreads,
  'sandbox packages': () => ({ once: () => runOnce(PACKAGES_CODE) }),
  expressions: (size) => {
    const codes = expressionsOf(size).map((code) => `return ${code}`);
    return { once: async () => expectValues(await runInThread(codes)) };
  },
};
