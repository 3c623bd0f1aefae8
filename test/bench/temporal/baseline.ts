import { randomUUID } from 'node:crypto';
import { Client, Connection } from '@temporalio/client';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import type { WorkerOptions } from '@temporalio/worker';
import { expectResult } from '../workload.ts';
import type { Order } from './baseline-workflows.ts';
import type { Job, ProcessSetup, Contender } from './contender.ts';

/** The workflow of each job. Compute blocks are activities, and the result is their number. */
const WORKFLOWS: { readonly [graph in Job['graph']]: string } = {
  empty: 'empty',
  compute: 'chain',
  effects: 'chain',
  loop: 'chain',
  branches: 'branches',
  'effect branches': 'branches',
  pause: 'pause',
};

/** Opens hand-written workflows on workers with the default settings of the SDK. */
export async function open(place: ProcessSetup): Promise<Contender> {
  Runtime.install({ logger: new DefaultLogger('ERROR'), shutdownSignals: [] });
  const { address, namespace } = place.server;
  const workers = await workersOf(place);
  const running = Promise.all(workers.map(({ worker }) => worker.run()));
  const connection = place.client ? await Connection.connect({ address }) : undefined;
  const client = connection && new Client({ connection, namespace });
  const queue = queuesOf(place);
  const start = (job: Job) => {
    if (!client) throw new Error('this process is no client');
    const order: Order = { size: job.size, queue: queue.work, window: job.window ?? 1 };
    return client.workflow.start(WORKFLOWS[job.graph], {
      workflowId: randomUUID(),
      taskQueue: queue.flow,
      args: [order],
    });
  };
  return {
    run: async (job) => expectResult(await (await start(job)).result(), job.size),
    pause: async () => expectResult(await (await start({ graph: 'pause', size: 1 })).query('waiting'), true),
    close: async () => {
      for (const { worker } of workers) worker.shutdown();
      await running;
      for (const worker of workers) await worker.connection.close();
      await connection?.close();
    },
  };
}

/** Returns one task queue, or two if activities have separate workers. */
function queuesOf({ queue, mode }: ProcessSetup): { flow: string; work: string } {
  return { flow: queue, work: mode.local === false ? `${queue}-work` : queue };
}

async function workersOf(place: ProcessSetup): Promise<{ worker: Worker; connection: NativeConnection }[]> {
  const { roles, mode, bundle } = place;
  const { flow, work } = queuesOf(place);
  const activities = { add: async (n: number) => n + 1 };
  const workflows = {
    workflowBundle: { codePath: bundle },
    ...(mode.cached !== undefined && { maxCachedWorkflows: mode.cached }),
  };
  const wanted: Omit<WorkerOptions, 'connection'>[] = [];
  if (roles.includes('engine'))
    wanted.push({ taskQueue: flow, ...workflows, ...(flow === work && { activities }) });
  if (flow !== work && roles.includes('segments')) wanted.push({ taskQueue: work, activities });
  const { address, namespace } = place.server;
  return Promise.all(
    wanted.map(async (options) => {
      const connection = await NativeConnection.connect({ address });
      return { worker: await Worker.create({ ...options, connection, namespace }), connection };
    }),
  );
}
