import type { Json } from '@heddle/core';
import type { TestApi } from './api.ts';
import { block, workflow } from './workflow.ts';

/** A workflow that responds with the name in its input, with status 418. */
export const GREETING_WORKFLOW = workflow(
  [
    block('Words', 'variables', {}),
    block('Reply', 'response', { dataMode: 'json', data: '{"hello": "<start.name>"}', status: '418' }),
  ],
  ['Start -> Words -> Reply'],
  { inputFormat: [{ name: 'name', type: 'string', value: 'nobody' }] },
);

/** A workflow that waits until a person approves or rejects. */
export const APPROVAL_WORKFLOW = workflow(
  [
    block('Ask', 'human_in_the_loop', {
      inputFormat: [{ id: 'ok', name: 'ok', type: 'boolean', required: true }],
    }),
    block('Reply', 'response', { dataMode: 'json', data: '{"ok": <ask.ok>}' }),
  ],
  ['Start -> Ask -> Reply'],
);

/** A workflow that fails, because egress to its URL is not allowed. */
export const FAILING_WORKFLOW = workflow(
  [block('Fetch', 'api', { url: 'http://127.0.0.1:9/', method: 'GET' })],
  ['Start -> Fetch'],
);

/** A workflow that takes ten minutes. */
export const LONG_WORKFLOW = workflow(
  [block('Rest', 'wait', { timeValue: '10', timeUnit: 'minutes' })],
  ['Start -> Rest'],
);

/** A run as the API returns it. */
export interface RunResponse {
  runId: string;
  status: string;
  statusUrl: string;
  paused: { contextId: string | null; pauseKind: string } | null;
}

/** Deploys `GREETING_WORKFLOW`. Returns the path of the workflow. */
export async function deployGreeting(api: TestApi): Promise<string> {
  return `/api/v2/workflows/${await api.deploy(GREETING_WORKFLOW)}`;
}

/** Queues a run without starting it, as if the process had ended in between. Returns the id of the run. */
export async function queueRun(
  { store, workspaceId }: Pick<TestApi, 'store' | 'workspaceId'>,
  workflowId: string,
  input: Json,
): Promise<string> {
  const runId = crypto.randomUUID();
  await store.reservations.reserve({
    engineRunId: runId,
    runId,
    workflowId,
    workspaceId,
    createdAt: new Date().toISOString(),
    trigger: 'api',
    mode: 'async',
  });
  await store.reservations.queue.add(runId, { input, version: 1 });
  return runId;
}

/** Polls the run at `path`, and resolves with the run when it has this status. */
export async function waitForStatus(api: TestApi, path: string, status: string): Promise<RunResponse> {
  for (let pollCount = 0; pollCount < 1000; pollCount += 1) {
    const { data } = await api.call<RunResponse | undefined>('GET', path);
    if (data?.status === status) return data;
    await new Promise((resolve) => {
      setTimeout(resolve, 10);
    });
  }
  throw new Error(`The run did not become ${status}.`);
}
