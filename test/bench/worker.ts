import { performance } from 'node:perf_hooks';
import { firstMessageLine } from './ipc.ts';
import type { Workload, Reply, Request, TimedWorkload, WorkloadName, Contender } from './workload.ts';

type LoadContender = () => Promise<{ contender: Contender }>;

/** The contenders by their names in the table. Each is loaded only in its own process. */
const CONTENDERS: { readonly [name: string]: LoadContender } = {
  heddle: () => import('./contenders/heddle.ts'),
  'heddle-isolates': async () => ({ contender: (await import('./sandbox/heddle.ts')).isolates }),
  'heddle-python': () => import('./sandbox/heddle-python.ts'),
  'heddle-standard': async () => ({ contender: (await import('./sandbox/heddle.ts')).standard }),
  'heddle-strict': async () => ({ contender: (await import('./sandbox/heddle.ts')).strict }),
  /** The workload without an engine: the least that the workload can cost. */
  baseline: () => import('./contenders/baseline.ts'),
  'ai-sdk': () => import('./agents/ai-sdk.ts'),
  'aws-local-stepfunctions': () => import('./contenders/aws-local-stepfunctions.ts'),
  bullmq: () => import('./contenders/bullmq.ts'),
  cpython: () => import('./sandbox/cpython.ts'),
  'isolated-vm': () => import('./sandbox/isolated-vm.ts'),
  langgraph: () => import('./contenders/langgraph.ts'),
  'langgraph-sqlite': () => import('./contenders/langgraph-sqlite.ts'),
  'n8n-core': () => import('./contenders/n8n-core.ts'),
  'n8n-task-runner': () => import('./contenders/n8n-task-runner.ts'),
  'node-red': () => import('./contenders/node-red.ts'),
  'node:vm': () => import('./sandbox/node-vm.ts'),
  'quickjs-emscripten': () => import('./sandbox/quickjs.ts'),
  worker_threads: () => import('./sandbox/worker-threads.ts'),
  xstate: () => import('./contenders/xstate.ts'),
};

/** Number of parts of a sample. The sample is the median of their means, so that one outlier does not decide it. */
const PARTS_PER_SAMPLE = 5;

/** Serves one workload of one contender to the parent process. */
export async function serve(name: string, workload: WorkloadName, size: number): Promise<void> {
  const send = (reply: Reply): void => void process.send?.(reply);
  const sendFailure = (error: unknown): void => send({ errorMessage: firstMessageLine(error) });
  process.on('uncaughtException', sendFailure);
  try {
    const createWorkload = (await CONTENDERS[name]?.())?.contender[workload];
    if (!createWorkload) throw new Error(`The contender ${name} has no workload "${workload}".`);
    const preparedWorkload = await createWorkload(size);
    process.on('message', (request: Request) => {
      const promise =
        request === 'close' ? close(preparedWorkload) : sample(preparedWorkload, request.sampleMs).then(send);
      promise.catch(sendFailure);
    });
    send({ ready: true });
  } catch (error) {
    sendFailure(error);
  }
}

async function close(workload: Workload): Promise<void> {
  await workload.close?.();
  process.exit(0);
}

async function sample(workload: Workload, sampleMs: number): Promise<Reply> {
  if ('sample' in workload) return { value: await workload.sample(sampleMs) };
  await workload.beforeSample?.();
  // Two runs before each sample warm up the compiler and caches.
  await workload.runOnce();
  await workload.runOnce();
  const means: number[] = [];
  for (let part = 0; part < PARTS_PER_SAMPLE; part++)
    means.push(await measureMeanMs(workload, sampleMs / PARTS_PER_SAMPLE));
  return { value: medianOf(means) };
}

/** Returns the milliseconds per run, measured over `partMs` but at least one run. */
async function measureMeanMs(workload: TimedWorkload, partMs: number): Promise<number> {
  const startMs = performance.now();
  for (let runs = 1; ; runs++) {
    const runPromise = workload.runOnce();
    if (runPromise) await runPromise;
    // Reading the clock costs as much as a few function calls.
    if (runs % 8 !== 0 && runs > 8) continue;
    const elapsedMs = performance.now() - startMs;
    if (elapsedMs >= partMs) return elapsedMs / runs;
  }
}

export function medianOf(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  if (!Number.isInteger(middle)) return sorted[Math.floor(middle)] as number;
  return ((sorted[middle - 1] as number) + (sorted[middle] as number)) / 2;
}
