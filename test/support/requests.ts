import type { AnyOperation } from '@heddle/api/areas';
import type { TriggerIds } from './trigger-workflow.ts';

/** The resources that requests name. */
export interface RequestTargets {
  workflowId: string;
  /** A run of the workflow. */
  runId: string;
  workspaceId: string;
  /** Absent: the requests name unknown triggers and deliveries. */
  triggers?: TriggerIds;
}

/** A file that can be imported. */
const WORKFLOW_FILE = { version: '1.0', workflow: { name: 'Imported' }, state: { blocks: {}, edges: [] } };

/**
 * Returns a valid request of the operation, without a credential. The request may name unknown resources, which are
 * reported as missing after the access checks. A new operation needs an entry in `queries` or `bodies` if its query or
 * body has required fields.
 */
export function requestOf(
  { id, method, path }: Pick<AnyOperation, 'id' | 'method' | 'path'>,
  { workflowId, runId, workspaceId, triggers }: RequestTargets,
): { method: string; path: string; body: unknown } {
  const parameters: { [name: string]: string } = {
    ...{ workflowId, workspaceId, runId, executionId: runId, jobId: runId, version: '1' },
    ...(triggers && {
      triggerId: path.includes('/webhooks/') ? triggers.webhookId : triggers.triggerId,
      deliveryId: triggers.deliveryId,
    }),
  };
  const filledPath = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => parameters[name] ?? 'NOTHING');
  const workspaceQuery = `?workspaceId=${workspaceId}`;
  const queries: { [id: string]: string } = {
    listWorkflows: workspaceQuery,
    // Dry runs leave the draft unchanged.
    replaceWorkflowState: '?dryRun=true',
    applyWorkflowOperations: '?dryRun=true',
    previewWorkflowRunFromBlock: `?sourceRunId=${runId}&blockId=nothing`,
    listWorkflowsFolders: workspaceQuery,
    deleteWorkflowsFolder: `${workspaceQuery}&path=/nothing`,
    compareWorkflowVersions: '?base=1',
    listLogs: workspaceQuery,
    getLogStats: workspaceQuery,
    searchLogs: `${workspaceQuery}&text=x`,
    getRunValue: '?part=input',
    downloadRunValue: '?part=input',
    listSecrets: workspaceQuery,
    deleteSecret: `${workspaceQuery}&scope=personal`,
    listCredentials: workspaceQuery,
    listCredentialProviders: workspaceQuery,
    updateCredential: workspaceQuery,
    deleteCredential: workspaceQuery,
    listSkills: workspaceQuery,
    getSkill: workspaceQuery,
    deleteSkill: workspaceQuery,
    listSkillEditors: workspaceQuery,
    revokeSkillEditor: `${workspaceQuery}&email=nobody@x.test`,
    listBlocks: workspaceQuery,
    getBlock: workspaceQuery,
    listTools: workspaceQuery,
    getTool: workspaceQuery,
    listConnectorTypes: workspaceQuery,
    listSandboxes: workspaceQuery,
    getSandbox: workspaceQuery,
    deleteSandbox: workspaceQuery,
    listTriggers: workspaceQuery,
    listWebhooks: workspaceQuery,
    listChatDeployments: workspaceQuery,
  };
  const bodies: { [id: string]: unknown } = {
    createWorkflowV2: { workspaceId, name: `Made ${crypto.randomUUID()}` },
    replaceWorkflowState: { blocks: {}, edges: [] },
    updateWorkflowPublicApi: { isPublicApi: false },
    executeWorkflowV2: {},
    executeWorkflow: {},
    resumeWorkflowRunV2: { contextId: 'nothing' },
    resumeExecution: {},
    updateWorkflowV2: { description: 'Waits' },
    moveWorkflows: { workspaceId, workflowIds: ['nothing'], folderPath: '/' },
    createWorkflowsFolder: { workspaceId, path: `/${crypto.randomUUID()}` },
    relocateWorkflowsFolder: { workspaceId, path: '/nothing', destinationPath: '/other' },
    applyWorkflowOperations: { operations: [{ operation_type: 'delete', block_id: 'nothing' }] },
    applyWorkflowVariables: { operations: [{ operation: 'delete', name: 'nothing' }] },
    createWorkspaceApiKey: { name: 'Made' },
    setSecret: { workspaceId, scope: 'personal', value: 'v' },
    createServiceAccountCredential: {
      ...{ workspaceId, type: 'service_account', providerId: 'shop' },
      ...{ displayName: `Made ${crypto.randomUUID()}`, credentials: '{"apiToken": "key-of-the-shop"}' },
    },
    updateCredential: { displayName: 'Other' },
    createSkill: {
      ...{ workspaceId, name: `made-${crypto.randomUUID()}` },
      ...{ description: 'For tests.', content: 'Test.' },
    },
    updateSkill: { workspaceId, content: 'Test again.' },
    grantSkillEditor: { workspaceId, email: 'nobody@x.test' },
    previewWorkflowImport: { workspaceId, workflow: WORKFLOW_FILE },
    importWorkflow: { workspaceId, workflow: WORKFLOW_FILE },
    createSandbox: { workspaceId, name: crypto.randomUUID(), language: 'javascript' },
    updateSandbox: { workspaceId, name: 'Other' },
    executeTool: { workspaceId, input: {} },
    updateWorkflowVersionV2: { name: 'Named' },
    backfillTrigger: { from: '2026-01-01T00:00:00Z', to: '2026-01-01T00:00:00Z' },
    replaceWorkflowChatDeployment: { identifier: 'a-chat', title: 'A chat' },
  };
  return { method, path: filledPath + (queries[id] ?? ''), body: bodies[id] };
}
