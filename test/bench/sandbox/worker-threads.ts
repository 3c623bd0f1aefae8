import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { BENCH_FOLDER } from '../peer.ts';
import { expectResult } from '../workload.ts';
import type { Contender, SelfMeasuringWorkload } from '../workload.ts';
import { CODE, expectExpressionResults, expressionsOf, INPUT, PACKAGES_CODE, RESULT } from './code.ts';
import { programWorkloads } from './program.ts';

const PROGRAM = `
const { createRequire } = require('node:module');
const { parentPort, workerData: { functionBodies, n, folder } } = require('node:worker_threads');
const packageRequire = createRequire(folder);
parentPort.postMessage(functionBodies.map((code) => new Function('n', 'require', code)(n, packageRequire)));`;

/** Runs the function bodies in one new thread and returns their results. */
async function runInThread(functionBodies: readonly string[]): Promise<number[]> {
  const worker = new Worker(PROGRAM, {
    eval: true,
    workerData: { functionBodies, n: INPUT, folder: BENCH_FOLDER },
  });
  const [values] = (await once(worker, 'message')) as [number[]];
  await worker.terminate();
  return values;
}

async function runCode(code: string): Promise<void> {
  expectResult((await runInThread([code]))[0], RESULT);
}

/** Measures the milliseconds for `size` executions, two at a time, extrapolated from those that fit into a sample. */
function createTwoThreadsWorkload(size: number): SelfMeasuringWorkload {
  return {
    async sample(sampleMs) {
      const startMs = performance.now();
      let executions = 0;
      const runUntilEnd = async (): Promise<void> => {
        for (; performance.now() - startMs < sampleMs; executions++) await runCode(CODE);
      };
      await Promise.all([runUntilEnd(), runUntilEnd()]);
      return ((performance.now() - startMs) / executions) * size;
    },
  };
}

/** A thread for each execution, with full access to Node.js: no boundary against hostile code. */
export const contender: Contender = {
  ...programWorkloads({ url: import.meta.url }),
  sandbox: () => ({ runOnce: () => runCode(CODE) }),
  'sandbox on two cores': createTwoThreadsWorkload,
  'sandbox packages': () => ({ runOnce: () => runCode(PACKAGES_CODE) }),
  expressions: (size) => {
    const functionBodies = expressionsOf(size).map((code) => `return ${code}`);
    return { runOnce: async () => expectExpressionResults(await runInThread(functionBodies)) };
  },
};
