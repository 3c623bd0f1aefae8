import { SERVED_OPERATIONS } from '../support/served-operations.ts';
import type { TestApi } from '../support/api.ts';
import { ECHO_WORKFLOW, FILE } from '../support/api-files.ts';
import { APPROVAL_WORKFLOW } from '../support/api-workflows.ts';
import type { RunResponse } from '../support/api-workflows.ts';
import { deployTriggers } from '../support/trigger-workflow.ts';
import { block, workflow } from '../support/workflow.ts';

/** A request that an operation accepts. In the body, `{n}` is a placeholder for a number that makes names unique. */
export interface AcceptedCall {
  path: { [name: string]: string };
  query?: { [name: string]: string };
  body?: object;
}

/** A workflow that ends immediately. It has no Response block, which could set the status of a legacy response. */
const PLAIN_WORKFLOW = workflow([block('Words', 'variables', {})], ['Start -> Words']);

/** A file that can be imported. */
const IMPORT_FILE = { version: '1.0', workflow: { name: 'Imported' }, state: { blocks: {}, edges: [] } };

type Run = RunResponse & { files: { id: string }[] | null };

/** Executes the workflow. Returns the run. */
async function executeWorkflow(api: TestApi, workflowId: string, input: object = {}): Promise<Run> {
  const path = `/api/v2/workflows/${workflowId}`;
  const { data } = await api.call<Run>('POST', `${path}/execute`, { body: { input } });
  const run = await api.call<Run>('GET', `${path}/runs/${data.runId}?includeOutput=true`);
  return { ...run.data, runId: data.runId };
}

/**
 * Creates folders, a secret, credentials, skills and sandboxes, and archives the workflow. Returns the ids that
 * requests need.
 */
async function createResources(api: TestApi, archivedWorkflowId: string) {
  const { workspaceId } = api;
  for (const path of ['/old', '/unwanted'])
    await api.call('POST', '/api/v2/workflows/folders', { body: { workspaceId, path } });
  const secret = { workspaceId, scope: 'workspace', value: 'v' };
  await api.call('PUT', '/api/v2/secrets/UNWANTED', { body: secret });
  for (const id of ['KEPT', 'UNWANTED']) {
    const credential = { workspaceId, type: 'service_account', providerId: 'shop', displayName: id, id };
    const body = { ...credential, credentials: '{"apiToken": "key-of-the-shop"}' };
    await api.call('POST', '/api/v2/credentials', { body });
  }
  await api.call('DELETE', `/api/v2/workflows/${archivedWorkflowId}`);
  const sandboxIds: string[] = [];
  for (const name of ['Kept', 'Unwanted']) {
    // A sandbox without packages needs no image.
    const body = { workspaceId, name, language: 'javascript' };
    sandboxIds.push((await api.call<{ id: string }>('POST', '/api/v2/sandboxes', { body })).data.id);
  }
  const [sandboxId = '', unwantedSandboxId = ''] = sandboxIds;
  return { sandboxId, unwantedSandboxId, ...(await createSkills(api)) };
}

/** Creates two skills, an editor of the first skill, and a member who is not an editor yet. Returns the skills' ids. */
async function createSkills(api: TestApi) {
  const { workspaceId, store } = api;
  const ids: string[] = [];
  for (const name of ['kept', 'unwanted']) {
    const body = { workspaceId, name, description: 'For tests.', content: 'Test.' };
    ids.push((await api.call<{ id: string }>('POST', '/api/v2/skills', { body })).data.id);
  }
  const [skillId = '', unwantedSkillId = ''] = ids;
  for (const name of ['revoked', 'granted']) {
    const userId = await store.workspaces.createUser({ email: `${name}@${workspaceId}.test`, name });
    await store.workspaces.setMember(workspaceId, userId, 'read');
  }
  const body = { workspaceId, email: `revoked@${workspaceId}.test` };
  await api.call('POST', `/api/v2/skills/${skillId}/editors`, { body });
  return { skillId, unwantedSkillId };
}

/** Imports a workflow with a receipt. Returns the id of the operation. */
async function importWithReceipt(api: TestApi): Promise<string> {
  const body = { workspaceId: api.workspaceId, workflow: IMPORT_FILE };
  const path = '/api/v2/workflows/import';
  const preview = await api.call<{ previewFingerprint: string }>('POST', `${path}/preview`, { body });
  const { previewFingerprint } = preview.data;
  const request = { ...body, requestId: crypto.randomUUID(), previewFingerprint };
  return (await api.call<{ operationId: string }>('POST', path, { body: request })).data.operationId;
}

/** Returns a call with its own workflow, whose draft no other call replaces. */
async function createPreviewCall(api: TestApi): Promise<AcceptedCall> {
  const workflowId = await api.deploy(PLAIN_WORKFLOW);
  const { runId: sourceRunId } = await executeWorkflow(api, workflowId);
  const { data: draft } = await api.call<{ blocks: { [id: string]: { name: string } } }>(
    'GET',
    `/api/v2/workflows/${workflowId}/state`,
  );
  const [blockId = ''] = Object.keys(draft.blocks).filter((id) => draft.blocks[id]?.name === 'Words');
  return { path: { workflowId }, query: { blockId, sourceRunId } };
}

/** Creates the resources that operations need. Returns an accepted request for each operation, by method and path. */
export async function createAcceptedCalls(api: TestApi): Promise<{ [call: string]: AcceptedCall }> {
  const [
    plainWorkflowId,
    targetWorkflowId,
    approvalWorkflowId,
    fileWorkflowId,
    archivedWorkflowId,
    unwantedWorkflowId,
  ] = await Promise.all(
    [PLAIN_WORKFLOW, PLAIN_WORKFLOW, APPROVAL_WORKFLOW, ECHO_WORKFLOW, PLAIN_WORKFLOW, PLAIN_WORKFLOW].map(
      (definition) => api.deploy(definition),
    ),
  );
  if (
    !plainWorkflowId ||
    !targetWorkflowId ||
    !approvalWorkflowId ||
    !fileWorkflowId ||
    !archivedWorkflowId ||
    !unwantedWorkflowId
  )
    throw new Error('A workflow is missing.');
  const { sandboxId, unwantedSandboxId, skillId, unwantedSkillId } = await createResources(
    api,
    archivedWorkflowId,
  );
  const operationId = await importWithReceipt(api);
  const { runId } = await executeWorkflow(api, plainWorkflowId);
  const startApprovalRun = () => executeWorkflow(api, approvalWorkflowId);
  const firstRun = await startApprovalRun();
  const secondRun = await startApprovalRun();
  const thirdRun = await startApprovalRun();
  const fourthRun = await startApprovalRun();
  const fifthRun = await startApprovalRun();
  const triggers = await deployTriggers({
    ...api,
    request: async (method, path, body) => (await api.call(method, path, { body })).data,
  });
  const { triggerId, deliveryId } = triggers;
  for (const [identifier, id] of Object.entries({
    'chat-asks': approvalWorkflowId,
    'chat-files': fileWorkflowId,
  }))
    await api.call('PUT', `/api/v2/workflows/${id}/deployments/chat`, {
      body: { identifier, title: 'Ask' },
    });
  const { id: keyId } = await api.store.keys.create({ workspaceId: api.workspaceId }, 'unwanted');
  const webhookOverride = { path: { triggerId: triggers.webhookId } };
  const runWithFile = await executeWorkflow(api, fileWorkflowId, { doc: FILE });
  const contextIdOf = (run: Run): string => run.paused?.contextId ?? '';
  const pausedRunParams = { workflowId: approvalWorkflowId, executionId: thirdRun.runId };
  const targetOverride = { path: { workflowId: targetWorkflowId } };
  const { workspaceId } = api;
  const workspaceOverride = { query: { workspaceId } };
  const overrides: { [id: string]: Partial<AcceptedCall> } = {
    listWorkflows: workspaceOverride,
    createWorkflowV2: { body: { workspaceId, name: 'Made {n}' } },
    replaceWorkflowState: { ...targetOverride, body: { blocks: {}, edges: [] } },
    updateWorkflowPublicApi: { ...targetOverride, body: { isPublicApi: true } },
    undeployWorkflow: targetOverride,
    deployWorkflow: { body: {} },
    activateWorkflowVersion: { body: {} },
    rollbackWorkflow: { body: { version: 1 } },
    updateWorkflowVersionV2: { body: { name: 'Named' } },
    revertWorkflowVersion: { body: {} },
    listBlocks: workspaceOverride,
    getBlock: workspaceOverride,
    listTools: workspaceOverride,
    getTool: workspaceOverride,
    listConnectorTypes: workspaceOverride,
    executeTool: { body: { workspaceId, input: { text: 'hi' } } },
    executeWorkflowV2: { body: { input: { name: 'Ada' } } },
    downloadWorkflowRunFileV2: {
      path: {
        workflowId: fileWorkflowId,
        runId: runWithFile.runId,
        fileId: runWithFile.files?.[0]?.id ?? '',
      },
    },
    // A repeated answer with the same content is accepted.
    resumeWorkflowRunV2: {
      path: { workflowId: approvalWorkflowId, runId: firstRun.runId },
      body: { contextId: contextIdOf(firstRun), input: { ok: true } },
    },
    cancelRunV2: { path: { workflowId: approvalWorkflowId, runId: fourthRun.runId } },
    cancelExecution: { path: { workflowId: approvalWorkflowId, executionId: fifthRun.runId } },
    previewWorkflowRunFromBlock: await createPreviewCall(api),
    executeWorkflow: { body: {} },
    updateWorkflowV2: { ...targetOverride, body: { description: 'New' } },
    deleteWorkflowV2: { path: { workflowId: unwantedWorkflowId } },
    restoreWorkflow: { path: { workflowId: archivedWorkflowId } },
    duplicateWorkflow: { body: { name: 'Copy {n}' } },
    moveWorkflows: { body: { workspaceId, workflowIds: [plainWorkflowId], folderPath: '/' } },
    listWorkflowsFolders: workspaceOverride,
    createWorkflowsFolder: { body: { workspaceId, path: '/made' } },
    relocateWorkflowsFolder: { body: { workspaceId, path: '/old', destinationPath: '/new' } },
    deleteWorkflowsFolder: { query: { workspaceId, path: '/unwanted' } },
    applyWorkflowOperations: {
      ...targetOverride,
      body: {
        operations: [{ operation_type: 'add', block_id: 'b-{n}', params: { type: 'wait', name: 'W{n}' } }],
      },
    },
    applyWorkflowVariables: {
      ...targetOverride,
      body: { operations: [{ operation: 'add', name: 'v{n}', type: 'string', value: 'x' }] },
    },
    previewWorkflowImport: { body: { workspaceId, workflow: IMPORT_FILE } },
    importWorkflow: { body: { workspaceId, workflow: IMPORT_FILE } },
    compareWorkflowVersions: { query: { base: '1' } },
    listLogs: workspaceOverride,
    getLogStats: workspaceOverride,
    searchLogs: { query: { workspaceId, text: 'x' } },
    rerunWorkflowRun: { body: {} },
    getRunValue: { query: { part: 'input' } },
    downloadRunValue: { query: { part: 'input' } },
    listSecrets: workspaceOverride,
    createWorkspaceApiKey: { body: { name: 'Made {n}' } },
    revokeWorkspaceApiKey: { path: { workspaceId, keyId } },
    setSecret: { path: { name: 'SET' }, body: { workspaceId, scope: 'workspace', value: 'v' } },
    deleteSecret: { path: { name: 'UNWANTED' }, query: { workspaceId, scope: 'workspace' } },
    listCredentials: workspaceOverride,
    listCredentialProviders: workspaceOverride,
    createServiceAccountCredential: {
      body: {
        workspaceId,
        type: 'service_account',
        providerId: 'shop',
        displayName: 'Made {n}',
        credentials: '{"apiToken": "key-of-the-shop"}',
      },
    },
    updateCredential: { ...workspaceOverride, path: { credentialId: 'KEPT' }, body: { description: 'Kept' } },
    deleteCredential: { ...workspaceOverride, path: { credentialId: 'UNWANTED' } },
    listSkills: workspaceOverride,
    createSkill: {
      body: { workspaceId, name: 'made', description: 'For tests.', content: 'Test.' },
    },
    getSkill: { ...workspaceOverride, path: { skillId } },
    updateSkill: { path: { skillId }, body: { workspaceId, content: 'Test again.' } },
    deleteSkill: { ...workspaceOverride, path: { skillId: unwantedSkillId } },
    listSkillEditors: { ...workspaceOverride, path: { skillId } },
    grantSkillEditor: {
      path: { skillId },
      body: { workspaceId, email: `granted@${workspaceId}.test` },
    },
    revokeSkillEditor: {
      path: { skillId },
      query: { workspaceId, email: `revoked@${workspaceId}.test` },
    },
    listSandboxes: workspaceOverride,
    createSandbox: { body: { workspaceId, name: 'Made {n}', language: 'javascript' } },
    getSandbox: workspaceOverride,
    updateSandbox: { body: { workspaceId, name: 'Changed' } },
    deleteSandbox: { ...workspaceOverride, path: { sandboxId: unwantedSandboxId } },
    listTriggers: workspaceOverride,
    resumeTrigger: { path: { triggerId: triggers.pausedTriggerId }, body: {} },
    runTrigger: { body: {} },
    backfillTrigger: { body: { from: '2026-01-01T00:00:00Z', to: '2026-01-02T00:00:00Z' } },
    listWebhooks: workspaceOverride,
    getWorkflowChatDeployment: { path: { workflowId: approvalWorkflowId } },
    replaceWorkflowChatDeployment: {
      path: { workflowId: approvalWorkflowId },
      body: { identifier: 'chat-asks', title: 'Kept' },
    },
    deleteWorkflowChatDeployment: { path: { workflowId: fileWorkflowId } },
    listChatDeployments: workspaceOverride,
    listWebhookDeliveries: webhookOverride,
    replayWebhookDelivery: { path: { ...webhookOverride.path, deliveryId }, body: {} },
    listPausedExecutions: { path: { workflowId: approvalWorkflowId } },
    getPausedExecution: { path: pausedRunParams },
    getPausedExecutionByResumePath: { path: pausedRunParams },
    getPauseContext: { path: { ...pausedRunParams, contextId: contextIdOf(thirdRun) } },
    resumeExecution: {
      path: {
        workflowId: approvalWorkflowId,
        executionId: secondRun.runId,
        contextId: contextIdOf(secondRun),
      },
      body: { ok: true },
    },
  };
  const defaultParameters: { [name: string]: string } = {
    workflowId: plainWorkflowId,
    runId,
    executionId: runId,
    jobId: runId,
    version: '1',
    sandboxId,
    workspaceId,
    operationId,
    blockId: 'api',
    toolId: 'echo',
    triggerId,
  };
  return Object.fromEntries(
    SERVED_OPERATIONS.map(({ id, method, path, params }): [string, AcceptedCall] => {
      const parameterEntries = Object.keys(params.shape).map((name): [string, string] => [
        name,
        defaultParameters[name] ?? '',
      ]);
      return [`${method} ${path}`, { path: Object.fromEntries(parameterEntries), ...overrides[id] }];
    }),
  );
}
