import { expectAccess } from '../../auth/authorize.ts';
import { cursorCodec } from '../../cursor.ts';
import { badRequest, isApiError } from '../../errors.ts';
import { defineOperation } from '../../operation.ts';
import type { Services } from '../../services.ts';
import type { Principal } from '../../auth/principal.ts';
import type { WorkflowRow } from '../../store/schema.ts';
import { workflowPath } from '../shapes.ts';
import { readGraph } from '../workflows/graph.ts';
import { expectWorkflow } from '../workflows/operations.ts';
import { MAX_INLINE_BYTES, filesFor, runFilesOf } from './files.ts';
import { findRun } from './find.ts';
import type { FoundRun } from './find.ts';
import { withCallerId } from './ids.ts';
import { pageOfRuns } from './page.ts';
import * as schemas from './schemas.ts';
import { blocksOf, resolveSelectors, selectedValues } from './selected.ts';
import { pausedOf, resultOf, triggerOf, unstartedRun } from './views.ts';

const TAG = 'Workflow Runs';
const READ = { scope: 'api:read', role: 'read', workspaceKeys: true } as const;

export const getWorkflowRun = defineOperation({
  id: 'getWorkflowRunV2',
  method: 'GET',
  path: '/api/v2/workflows/{workflowId}/runs/{runId}',
  tag: TAG,
  summary: 'Get the status of a run',
  ...READ,
  resource: 'workflow',
  params: schemas.runPath,
  query: schemas.runQuery,
  repeatable: ['selectedOutputs'],
  success: [{ status: 200, schema: schemas.runStatus, description: 'The run' }],
  errors: [400, 401, 403, 404, 413, 429],
  check({ query }) {
    expectFileOptions(query);
  },
  async handle(services, { path, query, principal, head, signal }, workflow) {
    const row = expectWorkflow(workflow);
    const found = await findRun(services, row, path.runId);
    if (head) return { data: null };
    if (!found.run)
      return { data: { ...unstartedRun(found.reservation), files: query.includeOutput ? [] : null } };
    const { run, reservation } = found;
    const blockOutputs = await selectedOf(services, row, run.runId, query.selectedOutputs);
    const shown = query.includeOutput && run.status === 'completed';
    const mayResume = await mayResumeRuns(services, principal, row);
    return {
      data: {
        ...resultOf({ ...run, runId: found.runId }, blockOutputs),
        output: shown ? run.output : null,
        trigger: triggerOf(run, reservation),
        paused: await pausedOf(services.engine, found, mayResume),
        cost: null,
        files: query.includeOutput ? await filesOf(services, shown ? found : undefined, query, signal) : null,
      },
    };
  },
});

/** Returns the files of the output, with their contents if requested. Throws 404, 413. */
async function filesOf(
  { engine }: Services,
  found: FoundRun | undefined,
  { includeFileBase64, base64MaxBytes = MAX_INLINE_BYTES }: schemas.RunQuery,
  signal: AbortSignal,
): Promise<schemas.RunFile[]> {
  if (!found?.run) return [];
  const inline = includeFileBase64 === true ? base64MaxBytes : undefined;
  const run = { ...found.run, runId: found.runId };
  return runFilesOf(() => filesFor(engine, found.engineId, signal), run, inline);
}

/** Throws 400 for file options without `includeOutput`. */
function expectFileOptions(query: schemas.RunQuery): void {
  const given = (['includeFileBase64', 'base64MaxBytes'] as const).find((name) => query[name] !== undefined);
  if (given === undefined || query.includeOutput) return;
  throw badRequest(`${given} is only accepted with includeOutput=true: the files are those of the output`);
}

const runsCursor = cursorCodec(schemas.runsPosition);

export const listWorkflowRuns = defineOperation({
  id: 'listWorkflowRunsV2',
  method: 'GET',
  path: '/api/v2/workflows/{workflowId}/runs',
  tag: TAG,
  summary: 'List the runs of a workflow',
  ...READ,
  resource: 'workflow',
  params: workflowPath,
  query: schemas.runsQuery,
  success: [{ status: 200, schema: schemas.runItem, page: true, description: 'A page of runs' }],
  errors: [400, 401, 403, 404, 429],
  async handle(services, { query }, workflow) {
    const row = expectWorkflow(workflow);
    const { startDate, endDate, cursor } = query;
    if (startDate !== undefined && endDate !== undefined && Date.parse(startDate) > Date.parse(endDate)) {
      throw badRequest('startDate must not be after endDate');
    }
    const filters = { ...query, workflow: row.id };
    const [from] = runsCursor.decode(cursor, filters) ?? [];
    const { items, next } = await pageOfRuns(services, row, query, from);
    return { page: items, nextCursor: next === undefined ? null : runsCursor.encode([next], filters) };
  },
});

export const cancelRun = defineOperation({
  id: 'cancelRunV2',
  method: 'POST',
  path: '/api/v2/workflows/{workflowId}/runs/{runId}/cancel',
  tag: TAG,
  summary: 'Cancel a run',
  scope: 'api:write',
  role: 'write',
  workspaceKeys: true,
  resource: 'workflow',
  params: schemas.runPath,
  query: workflowPath.pick({}),
  success: [{ status: 200, schema: schemas.cancelResult, description: 'The result of the cancel' }],
  errors: [400, 401, 403, 404, 409, 429],
  async handle(services, { path, principal }, workflow) {
    const row = expectWorkflow(workflow);
    const found = await findRun(services, row, path.runId);
    const { runId } = found;
    const outcome = await withCallerId(found, () => cancelFound(services, found));
    if (outcome.success) {
      const resource = { workspaceId: row.workspace_id, resourceType: 'run', resourceId: runId };
      await services.store.audit.record({ action: 'RUN_CANCELLED', ...resource }, principal);
    }
    const fixed = { runId, redisAvailable: false, durablyRecorded: outcome.success };
    return { data: { locallyAborted: false, pausedCancelled: false, ...fixed, ...outcome } };
  },
});

interface CancelOutcome {
  success: boolean;
  reason: string;
  locallyAborted?: boolean;
  pausedCancelled?: boolean;
}

async function cancelFound(services: Services, found: FoundRun): Promise<CancelOutcome> {
  const { engine, store } = services;
  const { engineId } = found;
  if (!found.run) {
    const failure = { reason: 'CANCELLED', message: 'The run was cancelled before it began.' } as const;
    if (await store.reservations.dequeue(engineId, failure))
      return { success: true, reason: 'queue_cancelled' };
    // The run has left the queue since `found` was read: it was started, or it has failed.
    const reservation = await store.reservations.find(engineId);
    if (reservation?.failure != null)
      return { success: false, reason: `already_${unstartedRun(reservation).status}` };
  }
  const before = found.run?.status;
  if (await engine.cancel(engineId, 'The run was cancelled through the API.')) {
    const pausedCancelled = before === 'paused';
    return { success: true, reason: 'recorded', pausedCancelled, locallyAborted: !pausedCancelled };
  }
  const { status } = await engine.getRun(engineId);
  return { success: false, reason: `already_${status}` };
}

async function selectedOf(
  services: Services,
  row: WorkflowRow,
  runId: string,
  selectors: readonly string[] | undefined,
) {
  if (selectors === undefined) return null;
  const ran = (await services.engine.getLogs(runId)).map(({ blockId, blockName }) => ({
    id: blockId,
    name: blockName,
  }));
  const blocks = [...ran, ...blocksOf(readGraph(row.state))];
  return selectedValues(
    services.engine,
    runId,
    await resolveSelectors(services, selectors, { workflow: row, blocks }),
  );
}

/** True when the caller may resume runs of the workflow. */
async function mayResumeRuns({ store }: Services, principal: Principal, row: WorkflowRow): Promise<boolean> {
  if (!principal.scopes.includes('api:write')) return false;
  try {
    const requirement = { role: 'write', workspaceKeys: true, noun: 'Workflow' } as const;
    await expectAccess(store, principal, row.workspace_id, requirement);
    return true;
  } catch (error) {
    if (isApiError(error)) return false;
    throw error;
  }
}
