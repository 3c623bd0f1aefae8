import { randomUUID } from 'node:crypto';
import { Client, Connection } from '@temporalio/client';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import type { WorkerOptions } from '@temporalio/worker';
import { expectResult } from '../workload.ts';
import type { WorkflowInput } from './baseline-workflows.ts';
import type { Job, ProcessSetup, Contender } from './contender.ts';

/** The name of the workflow of each job. Blocks are activities, and the result is the size of the job. */
const WORKFLOWS: { readonly [graph in Job['graph']]: string } = {
  empty: 'empty',
  compute: 'chain',
  effects: 'chain',
  loop: 'chain',
  branches: 'branches',
  'effect branches': 'branches',
  pause: 'pause',
};

/** Opens the contender with hand-written workflows, on workers with the default settings of the SDK. */
export async function open(setup: ProcessSetup): Promise<Contender> {
  Runtime.install({ logger: new DefaultLogger('ERROR'), shutdownSignals: [] });
  const { address, namespace } = setup.server;
  const workers = await createWorkers(setup);
  const workersDone = Promise.all(workers.map(({ worker }) => worker.run()));
  const connection = setup.client ? await Connection.connect({ address }) : undefined;
  const client = connection && new Client({ connection, namespace });
  const { workflowQueue, activityQueue } = queuesOf(setup);
  const start = (job: Job) => {
    if (!client) throw new Error('This process has no client.');
    const input: WorkflowInput = {
      size: job.size,
      queue: activityQueue,
      maxConcurrent: job.maxConcurrent ?? 1,
    };
    return client.workflow.start(WORKFLOWS[job.graph], {
      workflowId: randomUUID(),
      taskQueue: workflowQueue,
      args: [input],
    });
  };
  return {
    run: async (job) => expectResult(await (await start(job)).result(), job.size),
    startPausedRun: async () =>
      expectResult(await (await start({ graph: 'pause', size: 1 })).query('waiting'), true),
    close: async () => {
      for (const { worker } of workers) worker.shutdown();
      await workersDone;
      for (const worker of workers) await worker.connection.close();
      await connection?.close();
    },
  };
}

/** Returns the task queues of workflows and activities. They are the same unless activities have separate workers. */
function queuesOf({ queue, settings }: ProcessSetup): { workflowQueue: string; activityQueue: string } {
  return { workflowQueue: queue, activityQueue: settings.localSegments === false ? `${queue}-work` : queue };
}

async function createWorkers(
  setup: ProcessSetup,
): Promise<{ worker: Worker; connection: NativeConnection }[]> {
  const { roles, settings, bundlePath } = setup;
  const { workflowQueue, activityQueue } = queuesOf(setup);
  const activities = { add: async (n: number) => n + 1 };
  const workflows = {
    workflowBundle: { codePath: bundlePath },
    ...(settings.maxCachedWorkflows !== undefined && { maxCachedWorkflows: settings.maxCachedWorkflows }),
  };
  const workerOptions: Omit<WorkerOptions, 'connection'>[] = [];
  if (roles.includes('engine'))
    workerOptions.push({
      taskQueue: workflowQueue,
      ...workflows,
      ...(workflowQueue === activityQueue && { activities }),
    });
  if (workflowQueue !== activityQueue && roles.includes('segments'))
    workerOptions.push({ taskQueue: activityQueue, activities });
  const { address, namespace } = setup.server;
  return Promise.all(
    workerOptions.map(async (options) => {
      const connection = await NativeConnection.connect({ address });
      return { worker: await Worker.create({ ...options, connection, namespace }), connection };
    }),
  );
}
