import type { Contender } from './workload.ts';

type Load = () => Promise<{ contender: Contender }>;

/** Who takes part, by the name in the table; loaded only in the process that runs it. */
export const CONTENDERS: { readonly [name: string]: Load } = {
  heddle: () => import('./contenders/heddle.ts'),
  floor: () => import('./contenders/floor.ts'),
  'aws-local-stepfunctions': () => import('./contenders/aws-local-stepfunctions.ts'),
  bullmq: () => import('./contenders/bullmq.ts'),
  langgraph: () => import('./contenders/langgraph.ts'),
  'langgraph-sqlite': () => import('./contenders/langgraph-sqlite.ts'),
  'n8n-core': () => import('./contenders/n8n-core.ts'),
  'n8n-task-runner': () => import('./contenders/n8n-task-runner.ts'),
  'node-red': () => import('./contenders/node-red.ts'),
  xstate: () => import('./contenders/xstate.ts'),
};
