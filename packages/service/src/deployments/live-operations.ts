import {
  USER_PRINCIPALS,
  cursorCodec,
  emptyBody,
  forbidden,
  noQuery,
  notFound,
  workflowPath,
} from '@heddle/api/areas';
import type { Call } from '@heddle/api/areas';
import { WEBHOOK_PREFIX } from '@heddle/api/webhooks';
import type * as z from 'zod';
import type { VersionRow, WorkflowRow } from '../store/schema.ts';
import type { PlannedTrigger } from '../triggers/activation.ts';
import {
  READ_FIELDS,
  READ_ERRORS,
  WRITE_FIELDS,
  defineOperation,
  defineChangeOperation,
  auditActions,
  workflowResource,
} from '../workflows/context.ts';
import type { WorkflowServices } from '../workflows/context.ts';
import * as schemas from '../workflows/draft-schemas.ts';
import { toEngineFormat, readGraph } from '../workflows/graph.ts';
import { redactCredentials } from '../workflows/redact.ts';
import { findActiveVersion, deploymentOf, needsRedeployment, versionOf } from '../workflows/views.ts';

const ADMIN_FIELDS = { ...WRITE_FIELDS, role: 'admin', principals: USER_PRINCIPALS } as const;

export const deployWorkflow = defineChangeOperation({
  id: 'deployWorkflow',
  method: 'POST',
  path: '/api/v2/workflows/{workflowId}/deploy',
  summary: 'Deploy the draft as a new version',
  ...ADMIN_FIELDS,
  ...auditActions('WORKFLOW_DEPLOYED'),
  capability: 'deploy.api',
  resource: workflowResource,
  params: workflowPath,
  query: noQuery,
  body: schemas.deployBody,
  bodyOptional: true,
  success: [{ status: 200, schema: schemas.deployResult, description: 'The version is live' }],
  errors: [400, 401, 403, 404, 413, 415, 423, 429],
  async handle(services, { body, principal, recordAudit }, row) {
    const { warnings, ...deployedVersion } = await deployToEngine(services, row, row.state);
    const created_at = new Date(services.now()).toISOString();
    const newVersion = await services.store.workflows.addVersion(
      {
        workflow_id: row.id,
        name: body.name ?? null,
        description: body.description ?? null,
        state: row.state,
        engine_version: deployedVersion.engineVersion,
        created_at,
        deployed_by: principal.userId,
      },
      async (tx, { version }) => {
        await activate(services, tx, { row, version, deployedVersion });
        await recordAudit({ resourceId: row.id, details: { version } }, tx);
      },
    );
    services.triggers.notifyChanged();
    const liveRow = { ...row, active_version: newVersion.version, deployed_at: created_at };
    return { data: await deployResultOf(services, liveRow, { version: newVersion, warnings }) };
  },
});

export const undeployWorkflow = defineChangeOperation({
  id: 'undeployWorkflow',
  method: 'DELETE',
  path: '/api/v2/workflows/{workflowId}/deploy',
  summary: 'Undeploy the workflow',
  ...ADMIN_FIELDS,
  ...auditActions('WORKFLOW_UNDEPLOYED'),
  capability: 'deploy.api',
  resource: workflowResource,
  params: workflowPath,
  query: noQuery,
  success: [{ status: 200, schema: schemas.deploymentState, description: 'No version is live' }],
  errors: [400, 401, 403, 404, 423, 429],
  async handle(services, { recordAudit }, row) {
    await services.store.workflows.undeploy(row.id, async (tx) => {
      const workflow = { workflowId: row.id, workspaceId: row.workspace_id, nowMs: services.now() };
      await services.triggers.deactivate(tx, workflow);
      await recordAudit({ resourceId: row.id }, tx);
    });
    services.triggers.notifyChanged();
    return { data: deploymentOf({ ...row, active_version: null, deployed_at: null }, undefined) };
  },
});

export const getWorkflowDeployment = defineOperation({
  id: 'getWorkflowDeployment',
  method: 'GET',
  path: '/api/v2/workflows/{workflowId}/deployment',
  summary: 'Get the state of the deployment',
  ...READ_FIELDS,
  resource: workflowResource,
  params: workflowPath,
  query: noQuery,
  success: [{ status: 200, schema: schemas.deploymentDetail, description: 'The deployment' }],
  errors: READ_ERRORS,
  async handle(services, { origin }, row) {
    const liveVersion = await findActiveVersion(services, row);
    const triggerState = await services.triggers.stateOf(services.store.database, row.id);
    const { webhooks, warnings } = triggerState;
    const state = { ...deploymentOf(row, liveVersion, triggerState), warnings };
    const isPrepared = state.latestDeploymentAttempt?.status !== 'preparing';
    const needsRedeploy = isPrepared && needsRedeployment(row, liveVersion);
    const webhooksWithUrls = webhooks.map(({ blockId, provider, path }) => ({
      ...{ blockId, provider, url: origin + WEBHOOK_PREFIX + path },
    }));
    const isPublicApi = row.public_api === 1;
    return { data: { ...state, needsRedeployment: needsRedeploy, isPublicApi, webhooks: webhooksWithUrls } };
  },
});

export const updateWorkflowPublicApi = defineChangeOperation({
  id: 'updateWorkflowPublicApi',
  method: 'PATCH',
  path: '/api/v2/workflows/{workflowId}/deployment',
  summary: 'Allow or forbid unauthenticated runs of the live version',
  ...ADMIN_FIELDS,
  ...auditActions('WORKFLOW_PUBLIC_API_UPDATED'),
  capability: 'public_api.use',
  resource: workflowResource,
  params: workflowPath,
  query: noQuery,
  body: schemas.publicBody,
  success: [{ status: 200, schema: schemas.publicResult, description: 'Whether the workflow is public' }],
  errors: [400, 401, 403, 404, 413, 415, 423, 429],
  async handle(services, { body, recordAudit }, row) {
    const { isPublicApi } = body;
    if (isPublicApi && !(await services.allowsPublicRuns(row.workspace_id)))
      throw forbidden('PUBLIC_SHARING_NOT_ALLOWED', 'Workflows of this workspace cannot be public');
    await services.store.workflows.setPublic(row.id, isPublicApi, (tx) =>
      recordAudit({ resourceId: row.id, details: { isPublicApi } }, tx),
    );
    return { data: { id: row.id, isPublicApi } };
  },
});

const versionsCursor = cursorCodec(schemas.versionPosition);

export const listWorkflowVersions = defineOperation({
  id: 'listWorkflowVersionsV2',
  method: 'GET',
  path: '/api/v2/workflows/{workflowId}/versions',
  summary: 'List the deployed versions, newest first',
  ...READ_FIELDS,
  resource: workflowResource,
  params: workflowPath,
  query: schemas.versionsQuery,
  success: [{ status: 200, schema: schemas.versionItem, isPage: true, description: 'A page of versions' }],
  errors: READ_ERRORS,
  async handle(services, { query }, row) {
    const filters = { workflow: row.id };
    const [lastVersion] = versionsCursor.decode(query.cursor, filters) ?? [];
    const rows = await services.store.workflows.listVersions(row.id, query.limit, lastVersion);
    const page = rows.slice(0, query.limit).map((version) => versionOf(version, row.active_version));
    const lastListedVersion = rows.length > query.limit ? page.at(-1) : undefined;
    return {
      page,
      nextCursor: lastListedVersion ? versionsCursor.encode([lastListedVersion.version], filters) : null,
    };
  },
});

export const getWorkflowVersion = defineOperation({
  id: 'getWorkflowVersionV2',
  method: 'GET',
  path: '/api/v2/workflows/{workflowId}/versions/{version}',
  summary: 'Get a version with its graph, without credentials',
  ...READ_FIELDS,
  resource: workflowResource,
  params: schemas.versionPath,
  query: noQuery,
  success: [{ status: 200, schema: schemas.versionDetail, description: 'The version' }],
  errors: READ_ERRORS,
  async handle(services, { path }, row) {
    const version = await services.store.workflows.findVersion(row.id, Number(path.version));
    if (!version) throw notFound('Version');
    return {
      data: {
        ...versionOf(version, row.active_version),
        state: redactCredentials(readGraph(version.state)),
      },
    };
  },
});

export const activateWorkflowVersion = defineChangeOperation({
  id: 'activateWorkflowVersion',
  method: 'POST',
  path: '/api/v2/workflows/{workflowId}/versions/{version}/activate',
  summary: 'Make a version live',
  ...ADMIN_FIELDS,
  ...auditActions('WORKFLOW_VERSION_ACTIVATED'),
  capability: 'deploy.api',
  resource: workflowResource,
  params: schemas.versionPath,
  query: noQuery,
  body: emptyBody,
  bodyOptional: true,
  success: [{ status: 200, schema: schemas.deployResult, description: 'The version is live' }],
  errors: [400, 401, 403, 404, 413, 415, 423, 429],
  async handle(services, { path, recordAudit }, row) {
    const version = await services.store.workflows.findVersion(row.id, Number(path.version));
    if (!version) throw notFound('Version');
    return { data: await makeLive(services, { row, version }, recordAudit) };
  },
});

/** Makes a stored version live. Returns the state of the deployment. Throws 400 for a version that cannot run. */
export async function makeLive(
  services: WorkflowServices,
  { row, version: storedVersion }: { row: WorkflowRow; version: VersionRow },
  recordAudit: Call<unknown, unknown, unknown>['recordAudit'],
): Promise<z.output<typeof schemas.deployResult>> {
  // The version is compiled again: if this engine cannot run it, it is refused now and not at each run.
  const { warnings, ...deployedVersion } = await deployToEngine(services, row, storedVersion.state);
  const deployedAt = new Date(services.now()).toISOString();
  const { version } = storedVersion;
  const compiledVersion = { ...storedVersion, engine_version: deployedVersion.engineVersion };
  await services.store.workflows.activate(compiledVersion, deployedAt, async (tx) => {
    await activate(services, tx, { row, version, deployedVersion });
    await recordAudit({ resourceId: row.id, details: { version } }, tx);
  });
  services.triggers.notifyChanged();
  const liveRow = { ...row, active_version: version, deployed_at: deployedAt };
  return deployResultOf(services, liveRow, { version: storedVersion, warnings });
}

/** Returns the state of the deployment of a version that has become live, with the warnings about its triggers. */
async function deployResultOf(
  { store, triggers }: WorkflowServices,
  row: WorkflowRow,
  { version, warnings }: { version: VersionRow; warnings: readonly string[] },
): Promise<z.output<typeof schemas.deployResult>> {
  const state = await triggers.stateOf(store.database, row.id);
  const deployment = deploymentOf(row, version, state);
  return { ...deployment, warnings: [...warnings, ...state.warnings], version: version.version };
}

/** A version in the engine. */
interface DeployedVersion {
  /** The number of the version in the engine. */
  engineVersion: number;
  /** The triggers to activate. */
  triggers: readonly PlannedTrigger[];
}

/**
 * Compiles the graph and stores it in the engine. The engine's store and the service's store share no transaction, so
 * call this before the service records the version: if that fails, the version never runs. Throws 400 with every
 * diagnostic, and for triggers that cannot fire.
 */
async function deployToEngine(
  { engine, compat, triggers }: WorkflowServices,
  row: WorkflowRow,
  state: string,
): Promise<DeployedVersion & { warnings: string[] }> {
  const graph = readGraph(state);
  const { version, diagnostics } = await engine.deploy(toEngineFormat(row, graph), { compat });
  const startBlocks = await engine.triggers(row.id, { version });
  return {
    engineVersion: version,
    triggers: triggers.plan(graph.blocks, startBlocks),
    warnings: diagnostics.map(({ message }) => message),
  };
}

/** Replaces the triggers of the workflow with those of the version, in the transaction that makes the version live. */
async function activate(
  { triggers, now }: WorkflowServices,
  transaction: unknown,
  { row, version, deployedVersion }: { row: WorkflowRow; version: number; deployedVersion: DeployedVersion },
): Promise<void> {
  const target = { workflowId: row.id, workspaceId: row.workspace_id, version };
  const { triggers: plannedTriggers, engineVersion } = deployedVersion;
  await triggers.activate(transaction, { ...target, engineVersion, triggers: plannedTriggers, nowMs: now() });
}
