import { expect, it } from 'vitest';
import { SERVED } from '../support/served.ts';
import { APPROVAL, GREETING } from '../support/api-workflows.ts';
import { dataOf } from './service.ts';
import type { Caller, Reply, Sent, Service } from './service.ts';

/**
 * Who may call each operation, written by hand and not derived from the operations: the minimum role, and whether
 * workspace keys may. `any`: every credential may, because the response is about the credential itself.
 */
const ALLOWED: {
  readonly [id: string]: readonly [minimum: 'any' | 'read' | 'write' | 'admin', key: boolean];
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
  getLog: ['read', true],
  listSecrets: ['read', false],
  setSecret: ['read', false],
  deleteSecret: ['read', false],
  listWorkspaces: ['any', true],
  getWorkspace: ['read', true],
  listWorkspaceMembers: ['read', true],
  listBlocks: ['read', true],
  getBlock: ['read', true],
  listTools: ['read', true],
  getTool: ['read', true],
  executeTool: ['write', false],
  listSandboxes: ['read', true],
  createSandbox: ['admin', false],
  getSandbox: ['read', true],
  updateSandbox: ['admin', false],
  deleteSandbox: ['admin', false],
};

/** A file that can be imported. */
const FILE = { version: '1.0', workflow: { name: 'Imported' }, state: { blocks: {}, edges: [] } };

const RANK = { any: 0, read: 1, write: 2, admin: 3 };

interface Request {
  method: string;
  path: string;
  sent: Sent;
}

/** Returns a request of the operation. It may find nothing after it has passed the access checks. */
function requestOf(id: string, { workflow, runId, workspaceId }: Subject): Request {
  const operation = SERVED.find((each) => each.id === id);
  if (!operation) throw new Error(`There is no operation ${id}: remove it from the table.`);
  const { method, path } = operation;
  const filled = path
    .replaceAll('{workflowId}', workflow)
    .replaceAll(/\{(runId|executionId|jobId)\}/g, runId)
    .replaceAll(/\{(contextId|fileId)\}/g, 'nothing')
    .replaceAll('{workspaceId}', workspaceId)
    .replaceAll('{version}', '1')
    .replaceAll(/\{(sandboxId|operationId|blockId|toolId|name)\}/g, 'NOTHING');
  const inWorkspace = `?workspaceId=${workspaceId}`;
  const query: { [id: string]: string } = {
    listWorkflows: inWorkspace,
    replaceWorkflowState: '?dryRun=true',
    previewWorkflowRunFromBlock: `?sourceRunId=${runId}&blockId=nothing`,
    listWorkflowsFolders: inWorkspace,
    deleteWorkflowsFolder: `${inWorkspace}&path=/nothing`,
    applyWorkflowOperations: '?dryRun=true',
    compareWorkflowVersions: '?base=1',
    listLogs: inWorkspace,
    getLogStats: inWorkspace,
    listSecrets: inWorkspace,
    deleteSecret: `${inWorkspace}&scope=personal`,
    listBlocks: inWorkspace,
    getBlock: inWorkspace,
    listTools: inWorkspace,
    getTool: inWorkspace,
    listSandboxes: inWorkspace,
    getSandbox: inWorkspace,
    deleteSandbox: inWorkspace,
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
    setSecret: { workspaceId, scope: 'personal', value: 'v' },
    previewWorkflowImport: { workspaceId, workflow: FILE },
    importWorkflow: { workspaceId, workflow: FILE },
    createSandbox: { workspaceId, name: crypto.randomUUID(), language: 'javascript' },
    updateSandbox: { workspaceId, name: 'Other' },
    executeTool: { workspaceId, input: {} },
    updateWorkflowVersionV2: { name: 'Named' },
  };
  const body = bodies[id];
  return { method, path: filled + (query[id] ?? ''), sent: body === undefined ? {} : { body } };
}

/** A workflow with a run. The requests may end the run. */
interface Subject {
  workflow: string;
  runId: string;
  workspaceId: string;
}

/** Returns the refusal of an access check: 401, 403, or 404 for the workflow, run or workspace itself. */
function refusalOf({ status, text }: Reply): 401 | 403 | 404 | undefined {
  if (status === 401 || status === 403) return status;
  // A caller with access gets 404 only for things inside the workflow.
  const isConcealed = status === 404 && /(Workflow|Workspace|Run|Execution|Job|Log) not found/i.test(text);
  return isConcealed ? 404 : undefined;
}

function expectedOf(caller: Caller, [minimum, key]: readonly [keyof typeof RANK, boolean]) {
  if (caller === 'nobody') return 401;
  if (minimum === 'any') return undefined;
  if (caller === 'stranger' || caller === 'foreign') return 404;
  if (caller === 'shared') return key ? undefined : 403;
  return RANK[caller] >= RANK[minimum] ? undefined : 403;
}

const CALLERS = ['nobody', 'stranger', 'foreign', 'read', 'write', 'shared', 'admin'] as const;
/** Called last, because they end what the others need. */
const ENDS = ['cancelRunV2', 'cancelExecution', 'undeployWorkflow', 'deleteWorkflowV2'];

/** Calls every operation as every caller. */
export function describeAuthorization(service: () => Service): void {
  it('every operation allows exactly the declared callers', async () => {
    const { call, deployed, workspaces } = service();
    const path = await deployed(APPROVAL);
    const run = dataOf<{ runId: string }>(await call('admin', 'POST', `${path}/execute`, { body: {} }), 200);
    const workflow = path.split('/').at(-1) ?? '';
    const subject: Subject = { workflow, runId: run.runId, workspaceId: workspaces.first };
    const fresh = async (): Promise<string> => (await deployed(GREETING)).split('/').at(-1) ?? '';
    const ids = Object.keys(ALLOWED);
    expect(ids.toSorted()).toEqual(SERVED.map(({ id }) => id).toSorted());
    const ordered = [...ids.filter((id) => !ENDS.includes(id)), ...ENDS];
    const found: object[] = [];
    const expected: object[] = [];
    for (const id of ordered) {
      for (const caller of CALLERS) {
        // The first caller with access archives it.
        const acted = id === 'deleteWorkflowV2' ? { ...subject, workflow: await fresh() } : subject;
        const { method, path: at, sent } = requestOf(id, acted);
        const reply = await call(caller, method, at, sent);
        expect(reply.status, `${id} as ${caller}: ${reply.text}`).toBeLessThan(500);
        found.push({ id, caller, refusal: refusalOf(reply) });
        expected.push({ id, caller, refusal: expectedOf(caller, ALLOWED[id] ?? ['admin', false]) });
      }
    }
    expect(found).toEqual(expected);
  });

  it('an anonymous caller can execute a public workflow and nothing else', async () => {
    const { call, deployed, workspaces } = service();
    const path = await deployed(GREETING, 'admin', { isPublic: true });
    const ran = await call('nobody', 'POST', `${path}/execute`, { body: { input: { name: 'Ada' } } });
    const { runId } = dataOf<{ runId: string }>(ran, 200);
    const workflow = path.split('/').at(-1) ?? '';
    const subject: Subject = { workflow, runId, workspaceId: workspaces.first };
    for (const id of Object.keys(ALLOWED)) {
      if (id === 'executeWorkflowV2' || id === 'executeWorkflow') continue;
      const { method, path: at, sent } = requestOf(id, subject);
      expect([id, (await call('nobody', method, at, sent)).status]).toEqual([id, 401]);
    }
  });
}
