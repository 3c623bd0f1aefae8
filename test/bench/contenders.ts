import type { Contender } from './workload.ts';

type Load = () => Promise<{ contender: Contender }>;

/** The contenders by their names in the table. Each is loaded only in its own process. */
export const CONTENDERS: { readonly [name: string]: Load } = {
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
