import { SERVED } from '../support/served.ts';
import type { TestApi } from '../support/api.ts';
import { ECHO, FILE } from '../support/api-files.ts';
import { APPROVAL } from '../support/api-workflows.ts';
import type { ShownRun } from '../support/api-workflows.ts';
import { block, workflow } from '../support/workflow.ts';

/** A request that the operation accepts. */
export interface AcceptedCall {
  path: { [name: string]: string };
  query?: { [name: string]: string };
  body?: object;
}

/** A workflow that ends at once and sets no status for the older interface. */
const PLAIN = workflow([block('Words', 'variables', {})], ['Start -> Words']);

type Run = ShownRun & { files: { id: string }[] | null };

async function ran(api: TestApi, workflowId: string, input: object = {}): Promise<Run> {
  const at = `/api/v2/workflows/${workflowId}`;
  const { data } = await api.call<Run>('POST', `${at}/execute`, { body: { input } });
  const shown = await api.call<Run>('GET', `${at}/runs/${data.runId}?includeOutput=true`);
  return { ...shown.data, runId: data.runId };
}

/** Creates the resources that operations need. Returns an accepted request for each operation, by method and path. */
export async function acceptedCalls(api: TestApi): Promise<{ [call: string]: AcceptedCall }> {
  const [plain, victim, asks, files] = await Promise.all(
    [PLAIN, PLAIN, APPROVAL, ECHO].map((each) => api.deployed(each)),
  );
  if (!plain || !victim || !asks || !files) throw new Error('A workflow is missing.');
  const { runId } = await ran(api, plain);
  const { data: draft } = await api.call<{ blocks: { [id: string]: { name: string } } }>(
    'GET',
    `/api/v2/workflows/${plain}/state`,
  );
  const [words = ''] = Object.keys(draft.blocks).filter((id) => draft.blocks[id]?.name === 'Words');
  const [first, second, third] = [await ran(api, asks), await ran(api, asks), await ran(api, asks)];
  const download = await ran(api, files, { doc: FILE });
  const contextOf = (run: Run): string => run.paused?.contextId ?? '';
  const waits = { workflowId: asks, executionId: third.runId };
  const victims = { path: { workflowId: victim } };
  const own: { [id: string]: Partial<AcceptedCall> } = {
    listWorkflows: { query: { workspaceId: api.workspaceId } },
    createWorkflowV2: { body: { workspaceId: api.workspaceId, name: 'Made {n}' } },
    replaceWorkflowState: { ...victims, body: { blocks: {}, edges: [] } },
    updateWorkflowPublicApi: { ...victims, body: { isPublicApi: true } },
    undeployWorkflow: victims,
    deployWorkflow: { body: {} },
    activateWorkflowVersion: { body: {} },
    executeWorkflowV2: { body: { input: { name: 'Ada' } } },
    downloadWorkflowRunFileV2: {
      path: { workflowId: files, runId: download.runId, fileId: download.files?.[0]?.id ?? '' },
    },
    // A second identical answer is accepted.
    resumeWorkflowRunV2: {
      path: { workflowId: asks, runId: first.runId },
      body: { contextId: contextOf(first), input: { ok: true } },
    },
    previewWorkflowRunFromBlock: { query: { blockId: words, sourceRunId: runId } },
    executeWorkflow: { body: {} },
    listPausedExecutions: { path: { workflowId: asks } },
    getPausedExecution: { path: waits },
    getPausedExecutionByResumePath: { path: waits },
    getPauseContext: { path: { ...waits, contextId: contextOf(third) } },
    resumeExecution: {
      path: { workflowId: asks, executionId: second.runId, contextId: contextOf(second) },
      body: { ok: true },
    },
  };
  const usual: { [name: string]: string } = {
    ...{ workflowId: plain, runId, executionId: runId, jobId: runId, version: '1' },
  };
  return Object.fromEntries(
    SERVED.map(({ id, method, path, params }): [string, AcceptedCall] => {
      const named = Object.keys(params.shape).map((name): [string, string] => [name, usual[name] ?? '']);
      return [`${method} ${path}`, { path: Object.fromEntries(named), ...own[id] }];
    }),
  );
}
