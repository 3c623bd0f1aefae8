import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { requirePeer, requirePeerFile } from '../peer.ts';
import { CODE, INPUT, PACKAGES, PACKAGES_CODE, RESULT } from '../sandbox/code.ts';
import { createTwoProcessesWorkload } from '../sandbox/two-processes.ts';
import { programWorkloads } from '../sandbox/program.ts';
import { expectResult } from '../workload.ts';
import type { Contender, TimedWorkload } from '../workload.ts';

interface Runner {
  requireResolver: unknown;
  executeTask(task: object, signal: AbortSignal): Promise<{ result: unknown }>;
}

interface Broker {
  address(): AddressInfo;
}

/**
 * Returns a workload of `concurrency` concurrent tasks. The runner of n8n's Code node runs in this process and gets its
 * tasks directly. In production, it gets them from a broker, which is slower.
 */
async function createRunnerWorkload(concurrency: number, code = CODE): Promise<TimedWorkload> {
  // Otherwise the runner freezes the prototypes of the process, which breaks the connection to the broker below.
  process.env['NODE_ENV'] = 'test';
  const { JsTaskRunner } = requirePeerFile<{ JsTaskRunner: new (config: object) => Runner }>(
    '@n8n/task-runner',
    'dist/js-task-runner/js-task-runner.js',
  );
  const { WebSocketServer } = requirePeer<{
    WebSocketServer: new (options: object) => Broker & NodeJS.EventEmitter;
  }>('ws');
  // The runner requires a connection to a broker, although it gets its tasks directly.
  const broker = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  await once(broker, 'listening');
  const baseRunnerConfig = {
    taskBrokerUri: `http://127.0.0.1:${broker.address().port}`,
    grantToken: 'token',
    maxConcurrency: 64,
    maxPayloadSize: 1024 * 1024,
    taskTimeout: 60,
    heartbeatInterval: 30,
    idleTimeout: 0,
    timezone: 'UTC',
    healthcheckServer: { enabled: false },
  };
  const jsRunnerConfig = {
    allowedBuiltInModules: '',
    allowedExternalModules: PACKAGES.join(','),
    insecureMode: false,
  };
  const taskRunner = new JsTaskRunner({ baseRunnerConfig, jsRunnerConfig, sentryConfig: {} });
  // The runner passes `require` only to code that gets data of a workflow, so the task passes the same function.
  const additionalProperties = { n: INPUT, require: taskRunner.requireResolver };
  let taskCount = 0;
  const runTask = async (): Promise<void> => {
    const settings = { code, nodeMode: 'runCode', additionalProperties };
    const signal = new AbortController().signal;
    const { result } = await taskRunner.executeTask({ taskId: `t${taskCount++}`, settings }, signal);
    expectResult(result, RESULT);
  };
  return { runOnce: async () => void (await Promise.all(Array.from({ length: concurrency }, runTask))) };
}

export const contender: Contender = {
  ...programWorkloads({ url: import.meta.url }),
  sandbox: () => createRunnerWorkload(1),
  'sandbox in flight': (size) => createRunnerWorkload(size),
  'sandbox on two cores': (size) => createTwoProcessesWorkload('n8n-task-runner', size),
  'sandbox packages': () => createRunnerWorkload(1, PACKAGES_CODE),
};
