import type { Principal } from '../../auth/principal.ts';
import { cursorCodec } from '../../cursor.ts';
import { forbidden, notFound } from '../../errors.ts';
import { defineOperation } from '../../operation.ts';
import type { Services } from '../../services.ts';
import { auditRow } from '../../store/audit.ts';
import type { AuditRow, WorkflowRow } from '../../store/schema.ts';
import { emptyBody, noQuery, workflowPath } from '../shapes.ts';
import { exported, readGraph } from './graph.ts';
import { expectWorkflow } from './operations.ts';
import * as schemas from './schemas.ts';
import { withoutCredentials } from './redact.ts';
import { activeVersion, deploymentOf, needsRedeployment, versionOf } from './views.ts';

const TAG = 'Workflows';
const READ = { scope: 'api:read', role: 'read', workspaceKeys: true } as const;
const ADMIN = { scope: 'api:write', role: 'admin', workspaceKeys: false } as const;

export const deployWorkflow = defineOperation({
  id: 'deployWorkflow',
  method: 'POST',
  path: '/api/v2/workflows/{workflowId}/deploy',
  tag: TAG,
  summary: 'Deploy the draft as a new version',
  ...ADMIN,
  resource: 'workflow',
  params: workflowPath,
  query: noQuery,
  body: schemas.deployBody,
  bodyOptional: true,
  success: [{ status: 200, schema: schemas.deployResult, description: 'The version is live' }],
  errors: [400, 401, 403, 404, 413, 415, 423, 429],
  async handle(services, { body, principal }, workflow) {
    const row = expectWorkflow(workflow);
    const { version: engineVersion, warnings } = await deployToEngine(services, row, row.state);
    const created_at = new Date(services.now()).toISOString();
    const { details: _details, ...audit } = auditOf('WORKFLOW_DEPLOYED', row, principal);
    const added = await services.store.workflows.addVersion(
      {
        workflow_id: row.id,
        name: body.name ?? null,
        description: body.description ?? null,
        state: row.state,
        engine_version: engineVersion,
        created_at,
        deployed_by: principal.userId,
      },
      audit,
    );
    const state = deploymentOf({ ...row, deployed_at: created_at }, added);
    return { data: { ...state, warnings, version: added.version } };
  },
});

export const undeployWorkflow = defineOperation({
  id: 'undeployWorkflow',
  method: 'DELETE',
  path: '/api/v2/workflows/{workflowId}/deploy',
  tag: TAG,
  summary: 'Undeploy the workflow',
  ...ADMIN,
  resource: 'workflow',
  params: workflowPath,
  query: noQuery,
  success: [{ status: 200, schema: schemas.deploymentState, description: 'No version is live' }],
  errors: [400, 401, 403, 404, 423, 429],
  async handle(services, { principal }, workflow) {
    const row = expectWorkflow(workflow);
    await services.store.workflows.undeploy(row.id, auditOf('WORKFLOW_UNDEPLOYED', row, principal));
    return { data: deploymentOf({ ...row, active_version: null, deployed_at: null }, undefined) };
  },
});

export const getWorkflowDeployment = defineOperation({
  id: 'getWorkflowDeployment',
  method: 'GET',
  path: '/api/v2/workflows/{workflowId}/deployment',
  tag: TAG,
  summary: 'Get the state of the deployment',
  ...READ,
  resource: 'workflow',
  params: workflowPath,
  query: noQuery,
  success: [{ status: 200, schema: schemas.deploymentDetail, description: 'The deployment' }],
  errors: [400, 401, 403, 404, 429],
  async handle(services, _call, workflow) {
    const row = expectWorkflow(workflow);
    const active = await activeVersion(services, row);
    const needed = needsRedeployment(row, active);
    return {
      data: { ...deploymentOf(row, active), needsRedeployment: needed, isPublicApi: row.public_api === 1 },
    };
  },
});

export const updateWorkflowPublicApi = defineOperation({
  id: 'updateWorkflowPublicApi',
  method: 'PATCH',
  path: '/api/v2/workflows/{workflowId}/deployment',
  tag: TAG,
  summary: 'Allow or forbid runs of the live version without a credential',
  ...ADMIN,
  resource: 'workflow',
  params: workflowPath,
  query: noQuery,
  body: schemas.publicBody,
  success: [{ status: 200, schema: schemas.publicResult, description: 'Whether the workflow is public' }],
  errors: [400, 401, 403, 404, 413, 415, 423, 429],
  async handle(services, { body, principal }, workflow) {
    const row = expectWorkflow(workflow);
    const { isPublicApi } = body;
    if (isPublicApi && !(await services.allowsPublicRuns(row.workspace_id)))
      throw forbidden('PUBLIC_SHARING_NOT_ALLOWED', 'Workflows of this workspace may not be public');
    const audit = auditOf('WORKFLOW_PUBLIC_API_UPDATED', row, principal, { isPublicApi });
    await services.store.workflows.setPublic(row.id, isPublicApi, audit);
    return { data: { id: row.id, isPublicApi } };
  },
});

const versionsCursor = cursorCodec(schemas.versionPosition);

export const listWorkflowVersions = defineOperation({
  id: 'listWorkflowVersionsV2',
  method: 'GET',
  path: '/api/v2/workflows/{workflowId}/versions',
  tag: TAG,
  summary: 'List the deployed versions, newest first',
  ...READ,
  resource: 'workflow',
  params: workflowPath,
  query: schemas.versionsQuery,
  success: [{ status: 200, schema: schemas.versionItem, page: true, description: 'A page of versions' }],
  errors: [400, 401, 403, 404, 429],
  async handle(services, { query }, workflow) {
    const row = expectWorkflow(workflow);
    const filters = { workflow: row.id };
    const [before] = versionsCursor.decode(query.cursor, filters) ?? [];
    const rows = await services.store.workflows.versions(row.id, query.limit, before);
    const page = rows.slice(0, query.limit).map((version) => versionOf(version, row.active_version));
    const last = rows.length > query.limit ? page.at(-1) : undefined;
    return { page, nextCursor: last ? versionsCursor.encode([last.version], filters) : null };
  },
});

export const getWorkflowVersion = defineOperation({
  id: 'getWorkflowVersionV2',
  method: 'GET',
  path: '/api/v2/workflows/{workflowId}/versions/{version}',
  tag: TAG,
  summary: 'Get a version with its graph, without credentials',
  ...READ,
  resource: 'workflow',
  params: schemas.versionPath,
  query: noQuery,
  success: [{ status: 200, schema: schemas.versionDetail, description: 'The version' }],
  errors: [400, 401, 403, 404, 429],
  async handle(services, { path }, workflow) {
    const row = expectWorkflow(workflow);
    const version = await services.store.workflows.version(row.id, Number(path.version));
    if (!version) throw notFound('Version');
    return {
      data: {
        ...versionOf(version, row.active_version),
        state: withoutCredentials(readGraph(version.state)),
      },
    };
  },
});

export const activateWorkflowVersion = defineOperation({
  id: 'activateWorkflowVersion',
  method: 'POST',
  path: '/api/v2/workflows/{workflowId}/versions/{version}/activate',
  tag: TAG,
  summary: 'Make a version live',
  ...ADMIN,
  resource: 'workflow',
  params: schemas.versionPath,
  query: noQuery,
  body: emptyBody,
  bodyOptional: true,
  success: [{ status: 200, schema: schemas.deployResult, description: 'The version is live' }],
  errors: [400, 401, 403, 404, 413, 415, 423, 429],
  async handle(services, { path, principal }, workflow) {
    const row = expectWorkflow(workflow);
    const { store } = services;
    const found = await store.workflows.version(row.id, Number(path.version));
    if (!found) throw notFound('Version');
    // Compiled again, so that a version that this engine cannot run is refused now and not at each run.
    const { version: engine_version, warnings } = await deployToEngine(services, row, found.state);
    const at = new Date(services.now()).toISOString();
    const audit = auditOf('WORKFLOW_VERSION_ACTIVATED', row, principal, { version: found.version });
    await store.workflows.activate({ ...found, engine_version }, at, audit);
    const state = deploymentOf({ ...row, deployed_at: at }, found);
    return { data: { ...state, warnings, version: found.version } };
  },
});

/**
 * Compiles the graph and stores it in the engine. The engine's store and ours share no transaction, so this comes first:
 * a version that is then not recorded never runs. Throws 400 with every diagnostic.
 */
async function deployToEngine(
  { engine, compat }: Services,
  row: WorkflowRow,
  state: string,
): Promise<{ version: number; warnings: string[] }> {
  const deployed = await engine.deploy(exported(row, readGraph(state)), { compat });
  return { version: deployed.version, warnings: deployed.diagnostics.map(({ message }) => message) };
}

function auditOf(action: string, row: WorkflowRow, principal: Principal, details?: object): AuditRow {
  const resource = { workspaceId: row.workspace_id, resourceType: 'workflow', resourceId: row.id };
  return auditRow({ action, ...resource, ...(details && { details }) }, principal);
}
