import { conflict, emptyBody, noQuery, notFound, USER_PRINCIPALS, workflowPath } from '@heddle/api/areas';
import type { VersionRow, WorkflowRow } from '../store/schema.ts';
import {
  defineChangeOperation,
  auditActions,
  workflowResource,
  WRITE_FIELDS,
  WRITE_ERRORS,
  replaceDraft,
} from '../workflows/context.ts';
import type { WorkflowServices } from '../workflows/context.ts';
import * as schemas from '../workflows/draft-schemas.ts';
import { readGraph } from '../workflows/graph.ts';
import { makeLive } from './live-operations.ts';

const ADMIN_FIELDS = {
  ...WRITE_FIELDS,
  role: 'admin',
  principals: USER_PRINCIPALS,
  errors: WRITE_ERRORS,
} as const;

export const rollbackWorkflow = defineChangeOperation({
  ...ADMIN_FIELDS,
  ...auditActions('WORKFLOW_ROLLED_BACK'),
  id: 'rollbackWorkflow',
  method: 'POST',
  path: '/api/v2/workflows/{workflowId}/rollback',
  summary: 'Make an earlier version live again',
  resource: workflowResource,
  params: workflowPath,
  query: noQuery,
  body: schemas.rollbackBody,
  bodyOptional: true,
  success: [{ status: 200, schema: schemas.deployResult, description: 'The version is live' }],
  async handle(services, { body, recordAudit }, row) {
    const version =
      body.version === undefined
        ? await findPreviousVersion(services, row)
        : await services.store.workflows.findVersion(row.id, body.version);
    if (!version) throw notFound('Version');
    return { data: await makeLive(services, { row, version }, recordAudit) };
  },
});

/** Returns the version before the live one. Throws 409 if there is none. */
async function findPreviousVersion({ store }: WorkflowServices, row: WorkflowRow): Promise<VersionRow> {
  const { id, active_version: liveVersion } = row;
  if (liveVersion === null)
    throw conflict('The workflow has no live version: specify the version to make live.');
  const [previousVersion] = await store.workflows.listVersions(id, 1, liveVersion);
  if (previousVersion) return previousVersion;
  throw conflict(`Version ${liveVersion} is live, and there is none before it.`);
}

export const updateWorkflowVersion = defineChangeOperation({
  ...WRITE_FIELDS,
  ...auditActions('WORKFLOW_VERSION_UPDATED'),
  id: 'updateWorkflowVersionV2',
  method: 'PATCH',
  path: '/api/v2/workflows/{workflowId}/versions/{version}',
  summary: 'Name or describe a version',
  resource: workflowResource,
  params: schemas.versionPath,
  query: noQuery,
  body: schemas.versionChange,
  success: [{ status: 200, schema: schemas.changedVersion, description: 'The version' }],
  errors: [400, 401, 403, 404, 413, 415, 423, 429],
  async handle({ store }, { path, body, recordAudit }, row) {
    const key = { workflowId: row.id, version: Number(path.version) };
    const details = { version: key.version };
    const changedVersion = await store.workflows.changeVersion(key, body, (tx) =>
      recordAudit({ resourceId: row.id, details }, tx),
    );
    if (!changedVersion) throw notFound('Version');
    const { version, name, description } = changedVersion;
    return { data: { version, name, description } };
  },
});

export const revertWorkflowVersion = defineChangeOperation({
  ...ADMIN_FIELDS,
  ...auditActions('WORKFLOW_DRAFT_REVERTED'),
  id: 'revertWorkflowVersion',
  method: 'POST',
  path: '/api/v2/workflows/{workflowId}/versions/{version}/revert',
  summary: 'Replace the draft with the graph of a version',
  resource: workflowResource,
  params: schemas.versionOrActivePath,
  query: noQuery,
  body: emptyBody,
  bodyOptional: true,
  success: [{ status: 200, schema: schemas.revertResult, description: 'The draft is replaced' }],
  async handle(services, { path, recordAudit }, row) {
    const { store, now } = services;
    const versionNumber = path.version === 'active' ? row.active_version : Number(path.version);
    const storedVersion =
      versionNumber === null ? undefined : await store.workflows.findVersion(row.id, versionNumber);
    if (!storedVersion) throw notFound('Version');
    const { state, version } = storedVersion;
    await replaceDraft(services, row, {
      edit: () => ({ graph: readGraph(state) }),
      recordAudit: (tx) => recordAudit({ resourceId: row.id, details: { version } }, tx),
      conflictMessage: 'Another workflow uses block or edge ids of the version',
    });
    return { data: { id: row.id, version, lastSaved: now() } };
  },
});
