import { expect, it } from 'vitest';
import type { AnyOperation } from '@heddle/api/areas';
import { requestOf } from '../support/requests.ts';
import type { RequestTargets } from '../support/requests.ts';
import { SERVED_OPERATIONS } from '../support/served-operations.ts';
import { deployTriggers } from '../support/trigger-workflow.ts';
import { APPROVAL_WORKFLOW, GREETING_WORKFLOW } from '../support/api-workflows.ts';
import { dataOf } from './service.ts';
import type { Caller, ServiceResponse, Service } from './service.ts';

/**
 * The minimum role for each operation, and whether workspace keys may call it: hand-written, not derived from the
 * operations. `any` allows every valid credential, because the response is about the credential itself.
 */
const ACCESS_RULES: {
  readonly [id: string]: readonly [minimumRole: 'any' | 'read' | 'write' | 'admin', allowsKeys: boolean];
} = {
  getApiMeta: ['any', true],
  getUsageLimits: ['any', true],
  listWorkflows: ['read', true],
  createWorkflowV2: ['write', true],
  getWorkflow: ['read', true],
  getWorkflowState: ['read', true],
  replaceWorkflowState: ['write', false],
  getWorkflowDeployment: ['read', true],
  updateWorkflowPublicApi: ['admin', false],
  deployWorkflow: ['admin', false],
  undeployWorkflow: ['admin', false],
  listWorkflowVersionsV2: ['read', true],
  getWorkflowVersionV2: ['read', true],
  activateWorkflowVersion: ['admin', false],
  rollbackWorkflow: ['admin', false],
  updateWorkflowVersionV2: ['write', true],
  revertWorkflowVersion: ['admin', false],
  executeWorkflowV2: ['read', true],
  listWorkflowRunsV2: ['read', true],
  getWorkflowRunV2: ['read', true],
  previewWorkflowRunFromBlock: ['write', false],
  downloadWorkflowRunFileV2: ['read', true],
  resumeWorkflowRunV2: ['write', true],
  cancelRunV2: ['write', true],
  executeWorkflow: ['read', true],
  getExecution: ['read', true],
  cancelExecution: ['write', true],
  streamExecution: ['read', true],
  listPausedExecutions: ['write', true],
  getPausedExecution: ['write', true],
  getPausedExecutionByResumePath: ['write', true],
  getPauseContext: ['write', true],
  resumeExecution: ['write', true],
  getJob: ['read', true],
  updateWorkflowV2: ['write', true],
  deleteWorkflowV2: ['write', true],
  restoreWorkflow: ['write', true],
  duplicateWorkflow: ['write', true],
  moveWorkflows: ['write', true],
  listWorkflowsFolders: ['read', true],
  createWorkflowsFolder: ['write', true],
  relocateWorkflowsFolder: ['write', true],
  deleteWorkflowsFolder: ['write', true],
  applyWorkflowOperations: ['write', false],
  applyWorkflowVariables: ['write', true],
  inspectWorkflow: ['read', true],
  exportWorkflow: ['read', true],
  previewWorkflowImport: ['write', true],
  importWorkflow: ['write', true],
  getWorkspaceOperation: ['read', true],
  listWorkspaceOperations: ['read', true],
  compareWorkflowVersions: ['read', true],
  listLogs: ['read', true],
  getLogStats: ['read', true],
  searchLogs: ['read', true],
  getLog: ['read', true],
  getRunOverview: ['read', true],
  listRunSpans: ['read', true],
  getRunStates: ['read', true],
  getRunValue: ['read', true],
  downloadRunValue: ['read', true],
  followRun: ['read', true],
  rerunWorkflowRun: ['write', true],
  listSecrets: ['read', false],
  setSecret: ['read', false],
  deleteSecret: ['read', false],
  listCredentials: ['read', true],
  listCredentialProviders: ['read', true],
  createServiceAccountCredential: ['write', false],
  updateCredential: ['read', false],
  deleteCredential: ['read', false],
  listSkills: ['read', true],
  createSkill: ['write', false],
  getSkill: ['read', true],
  updateSkill: ['read', false],
  deleteSkill: ['read', false],
  listSkillEditors: ['read', true],
  grantSkillEditor: ['read', false],
  revokeSkillEditor: ['read', false],
  listWorkspaces: ['any', true],
  getWorkspace: ['read', true],
  listWorkspaceMembers: ['read', true],
  listWorkspaceAuditLogs: ['admin', false],
  listWorkspaceApiKeys: ['admin', false],
  createWorkspaceApiKey: ['admin', false],
  revokeWorkspaceApiKey: ['admin', false],
  listBlocks: ['read', true],
  getBlock: ['read', true],
  listTools: ['read', true],
  getTool: ['read', true],
  listConnectorTypes: ['read', true],
  executeTool: ['write', false],
  listSandboxes: ['read', true],
  createSandbox: ['admin', false],
  getSandbox: ['read', true],
  updateSandbox: ['admin', false],
  deleteSandbox: ['admin', false],
  listTriggers: ['read', true],
  getTrigger: ['read', true],
  pauseTrigger: ['write', true],
  resumeTrigger: ['write', true],
  runTrigger: ['write', true],
  backfillTrigger: ['write', true],
  listTriggerEvents: ['read', true],
  listWebhooks: ['read', true],
  listWebhookDeliveries: ['read', true],
  replayWebhookDelivery: ['write', true],
  getWorkflowChatDeployment: ['admin', false],
  replaceWorkflowChatDeployment: ['admin', false],
  deleteWorkflowChatDeployment: ['admin', false],
  listChatDeployments: ['read', true],
};

const ROLE_RANK = { any: 0, read: 1, write: 2, admin: 3 };

function findOperation(id: string): AnyOperation {
  const operation = SERVED_OPERATIONS.find((servedOperation) => servedOperation.id === id);
  if (!operation) throw new Error(`There is no operation ${id}: remove it from the table.`);
  return operation;
}

/** Calls the operation as this caller. */
function callAs(
  call: Service['call'],
  caller: Caller,
  id: string,
  targets: RequestTargets,
): Promise<ServiceResponse> {
  const { method, path, body } = requestOf(findOperation(id), targets);
  return call(caller, method, path, body === undefined ? {} : { body });
}

/** Returns the refusal of an access check: 401, 403, or 404 for the workflow, run or workspace itself. */
function refusalOf({ status, text }: ServiceResponse): 401 | 403 | 404 | undefined {
  if (status === 401 || status === 403) return status;
  // A caller with access gets 404 only for resources inside the workflow.
  const isConcealed =
    status === 404 &&
    /(Workflow|Workspace|Run|Execution|Job|Log|Trigger|Webhook|Delivery) not found/i.test(text);
  return isConcealed ? 404 : undefined;
}

function expectedRefusalOf(
  caller: Caller,
  [minimumRole, allowsKeys]: readonly [keyof typeof ROLE_RANK, boolean],
) {
  if (caller === 'anonymous') return 401;
  if (minimumRole === 'any') return undefined;
  if (caller === 'otherAdmin' || caller === 'otherKey') return 404;
  if (caller === 'workspaceKey') return allowsKeys ? undefined : 403;
  return ROLE_RANK[caller] >= ROLE_RANK[minimumRole] ? undefined : 403;
}

const CALLERS = ['anonymous', 'otherAdmin', 'otherKey', 'read', 'write', 'workspaceKey', 'admin'] as const;
/** Called last, because they end or delete what other operations need. */
const DESTRUCTIVE_OPERATIONS = ['cancelRunV2', 'cancelExecution', 'undeployWorkflow', 'deleteWorkflowV2'];

/** Defines the tests of the callers that each operation allows. */
export function describeAuthorization(service: () => Service): void {
  it('every operation allows exactly the declared callers', async () => {
    const { call, deploy, workspaces } = service();
    const path = await deploy(APPROVAL_WORKFLOW);
    const run = dataOf<{ runId: string }>(await call('admin', 'POST', `${path}/execute`, { body: {} }), 200);
    const workflowId = path.split('/').at(-1) ?? '';
    const triggers = await deployTriggers({
      workspaceId: workspaces.first,
      deploy: async (definition) => (await deploy(definition)).split('/').at(-1) ?? '',
      request: async (method, requestPath, body) =>
        (await call('admin', method, requestPath, { body })).body?.data,
    });
    const targets: RequestTargets = { workflowId, runId: run.runId, workspaceId: workspaces.first, triggers };
    const deployNewWorkflow = async (): Promise<string> =>
      (await deploy(GREETING_WORKFLOW)).split('/').at(-1) ?? '';
    const ids = Object.keys(ACCESS_RULES);
    expect(ids.toSorted()).toEqual(SERVED_OPERATIONS.map(({ id }) => id).toSorted());
    const orderedIds = [
      ...ids.filter((id) => !DESTRUCTIVE_OPERATIONS.includes(id)),
      ...DESTRUCTIVE_OPERATIONS,
    ];
    const refusals: object[] = [];
    const expected: object[] = [];
    for (const id of orderedIds) {
      for (const caller of CALLERS) {
        // A caller with access archives the workflow: each caller gets a new one.
        const callTargets =
          id === 'deleteWorkflowV2' ? { ...targets, workflowId: await deployNewWorkflow() } : targets;
        const response = await callAs(call, caller, id, callTargets);
        expect(response.status, `${id} as ${caller}: ${response.text}`).toBeLessThan(500);
        refusals.push({ id, caller, refusal: refusalOf(response) });
        expected.push({
          id,
          caller,
          refusal: expectedRefusalOf(caller, ACCESS_RULES[id] ?? ['admin', false]),
        });
      }
    }
    expect(refusals).toEqual(expected);
  });

  it('an anonymous caller can execute a public workflow and nothing else', async () => {
    const { call, deploy, workspaces } = service();
    const path = await deploy(GREETING_WORKFLOW, 'admin', { isPublic: true });
    const response = await call('anonymous', 'POST', `${path}/execute`, { body: { input: { name: 'Ada' } } });
    const { runId } = dataOf<{ runId: string }>(response, 200);
    const workflowId = path.split('/').at(-1) ?? '';
    const targets: RequestTargets = { workflowId, runId, workspaceId: workspaces.first };
    for (const id of Object.keys(ACCESS_RULES)) {
      if (id === 'executeWorkflowV2' || id === 'executeWorkflow') continue;
      expect([id, (await callAs(call, 'anonymous', id, targets)).status]).toEqual([id, 401]);
    }
  });
}
