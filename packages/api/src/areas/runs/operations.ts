import type { AreaContext } from '../../context.ts';
import { mayWrite } from '../../auth/authorize.ts';
import { cursorCodec } from '../../cursor.ts';
import { badRequest } from '../../errors.ts';
import { operationFactory } from '../../operation.ts';
import { AUTHENTICATED_PRINCIPALS } from '../../auth/principal.ts';
import type { Definition } from '../../ports.ts';
import { workflow as workflowResource } from '../../resource.ts';
import { workflowPath } from '../common-schemas.ts';
import { MAX_INLINE_BYTES, openFileReader, runFilesOf } from './files.ts';
import { findRun } from './find.ts';
import type { FoundRun } from './find.ts';
import { withCallerRunId } from './ids.ts';
import { listRunsPage } from './list-page.ts';
import * as schemas from './schemas.ts';
import { resolveSelectors, selectedValues } from './selected-outputs.ts';
import { pauseStateOf, resultOf, triggerOf, unstartedRun } from './views.ts';

const TAG = 'Workflow Runs';
const READ_FIELDS = {
  principals: AUTHENTICATED_PRINCIPALS,
  scope: 'api:read',
  role: 'read',
  resource: workflowResource,
} as const;
const defineOperation = operationFactory<AreaContext>();

export const getWorkflowRun = defineOperation({
  id: 'getWorkflowRunV2',
  method: 'GET',
  path: '/api/v2/workflows/{workflowId}/runs/{runId}',
  tag: TAG,
  summary: 'Get the status of a run',
  ...READ_FIELDS,
  params: schemas.runPath,
  query: schemas.runQuery,
  repeatableQueryKeys: ['selectedOutputs'],
  success: [{ status: 200, schema: schemas.runStatus, description: 'The run' }],
  errors: [400, 401, 403, 404, 413, 429],
  check({ query }) {
    requireOutputForFileOptions(query);
  },
  async handle(services, { path, query, principal, basePath, isHead, signal }, workflow) {
    const foundRun = await findRun(services, workflow, path.runId);
    if (isHead) return { data: null };
    if (!foundRun.run)
      return { data: { ...unstartedRun(foundRun.reservation), files: query.includeOutput ? [] : null } };
    const { run, reservation } = foundRun;
    const blockOutputs = await selectedOutputsOf(services, workflow, run.runId, query.selectedOutputs);
    const hasOutput = query.includeOutput && run.status === 'completed';
    const mayResume = await mayWrite(services, principal, workflow.workspaceId);
    return {
      data: {
        ...resultOf({ ...run, runId: foundRun.runId }, blockOutputs),
        output: hasOutput ? run.output : null,
        trigger: triggerOf(run, reservation),
        paused: pauseStateOf(foundRun, mayResume),
        cost: null,
        files: query.includeOutput
          ? await filesOf(services, hasOutput ? foundRun : undefined, query, { signal, basePath })
          : null,
      },
    };
  },
});

/** Returns the files of the output, with their contents if requested. Throws 404, 413. */
async function filesOf(
  { engine }: AreaContext,
  foundRun: FoundRun | undefined,
  { includeFileBase64, base64MaxBytes = MAX_INLINE_BYTES }: schemas.RunQuery,
  { signal, basePath }: { signal: AbortSignal; basePath: string },
): Promise<schemas.RunFile[]> {
  if (!foundRun?.run) return [];
  const inlineMaxBytes = includeFileBase64 === true ? base64MaxBytes : undefined;
  const run = { ...foundRun.run, runId: foundRun.runId, basePath };
  return runFilesOf(() => openFileReader(engine, foundRun.engineRunId, signal), run, inlineMaxBytes);
}

/** Throws 400 for file options without `includeOutput`. */
function requireOutputForFileOptions(query: schemas.RunQuery): void {
  const option = (['includeFileBase64', 'base64MaxBytes'] as const).find((name) => query[name] !== undefined);
  if (option === undefined || query.includeOutput) return;
  throw badRequest(`${option} is only accepted with includeOutput=true: the files are those of the output`);
}

const runsCursor = cursorCodec(schemas.runsPosition);

export const listWorkflowRuns = defineOperation({
  id: 'listWorkflowRunsV2',
  method: 'GET',
  path: '/api/v2/workflows/{workflowId}/runs',
  tag: TAG,
  summary: 'List the runs of a workflow',
  ...READ_FIELDS,
  params: workflowPath,
  query: schemas.runsQuery,
  success: [{ status: 200, schema: schemas.runItem, isPage: true, description: 'A page of runs' }],
  errors: [400, 401, 403, 404, 429],
  async handle(services, { query }, workflow) {
    const { startDate, endDate, cursor } = query;
    if (startDate !== undefined && endDate !== undefined && Date.parse(startDate) > Date.parse(endDate)) {
      throw badRequest('startDate must not be after endDate');
    }
    const filters = { ...query, workflow: workflow.id };
    const [startCursor] = runsCursor.decode(cursor, filters) ?? [];
    const { items, nextCursor } = await listRunsPage(services, workflow, query, startCursor);
    return {
      page: items,
      nextCursor: nextCursor === undefined ? null : runsCursor.encode([nextCursor], filters),
    };
  },
});

export const cancelRun = defineOperation({
  id: 'cancelRunV2',
  method: 'POST',
  path: '/api/v2/workflows/{workflowId}/runs/{runId}/cancel',
  tag: TAG,
  summary: 'Cancel a run',
  ...READ_FIELDS,
  scope: 'api:write',
  role: 'write',
  audit: { resourceType: 'run', actions: ['RUN_CANCELLED'] },
  params: schemas.runPath,
  query: workflowPath.pick({}),
  success: [{ status: 200, schema: schemas.cancelResult, description: 'The result of the cancellation' }],
  errors: [400, 401, 403, 404, 409, 429],
  async handle(services, { path, runAudited }, workflow) {
    const foundRun = await findRun(services, workflow, path.runId);
    const { runId } = foundRun;
    const cancel = () => withCallerRunId(foundRun, () => cancelFoundRun(services, foundRun));
    const outcome = await runAudited({ resourceId: runId }, cancel, ({ success }) => success);
    const fields = { runId, redisAvailable: false, durablyRecorded: outcome.success };
    return { data: { locallyAborted: false, pausedCancelled: false, ...fields, ...outcome } };
  },
});

interface CancelOutcome {
  success: boolean;
  reason: string;
  locallyAborted?: boolean;
  pausedCancelled?: boolean;
}

async function cancelFoundRun(services: AreaContext, foundRun: FoundRun): Promise<CancelOutcome> {
  const { engine, queue, reservations } = services;
  const { engineRunId } = foundRun;
  if (!foundRun.run) {
    const failure = { reason: 'CANCELLED', message: 'The run was cancelled before it began.' } as const;
    if (await queue?.remove(engineRunId, failure)) return { success: true, reason: 'queue_cancelled' };
    // The run has left the queue since `foundRun` was read: it was started, or it has failed.
    const reservation = (await reservations.findByEngineRunIds([engineRunId])).get(engineRunId);
    if (reservation?.failure)
      return { success: false, reason: `already_${unstartedRun(reservation).status}` };
  }
  const previousStatus = foundRun.run?.status;
  if (await engine.cancel(engineRunId, 'The run was cancelled through the API.')) {
    const pausedCancelled = previousStatus === 'paused';
    return { success: true, reason: 'recorded', pausedCancelled, locallyAborted: !pausedCancelled };
  }
  const { status } = await engine.getRun(engineRunId);
  return { success: false, reason: `already_${status}` };
}

async function selectedOutputsOf(
  services: AreaContext,
  workflow: Definition,
  runId: string,
  selectors: readonly string[] | undefined,
) {
  if (selectors === undefined) return null;
  const { blocks: plannedBlocks } = await services.engine.planOf(runId);
  const blocks = Object.values(plannedBlocks).map(({ id, name }) => ({ blockId: id, name }));
  return selectedValues(
    services.engine,
    runId,
    await resolveSelectors(services, selectors, { workflow, blocks }),
  );
}
