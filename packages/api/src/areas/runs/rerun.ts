import type { Json, JsonObject } from '@heddle/core';
import type { Engine, ExecuteOptions, RunDetail, RunHandle } from '@heddle/engine';
import { admitRun } from '../../admission/admit-run.ts';
import type { AreaContext } from '../../context.ts';
import { AUTHENTICATED_PRINCIPALS, USER_PRINCIPALS, accountOf } from '../../auth/principal.ts';
import { badRequest, conflict, forbidden } from '../../errors.ts';
import { operationFactory } from '../../operation.ts';
import type { Definition } from '../../ports.ts';
import { workflow as workflowResource } from '../../resource.ts';
import { noQuery } from '../common-schemas.ts';
import { findRun } from './find.ts';
import { runIdOptions, withCallerRunId } from './ids.ts';
import type { RunIds } from './ids.ts';
import { reserveRunId } from './reserve-run-id.ts';
import { requireLiveVersion, requireValidRunId } from './rules.ts';
import * as schemas from './schemas.ts';
import { acceptedRunOf } from './views.ts';

export const rerunWorkflowRun = operationFactory<AreaContext>()({
  id: 'rerunWorkflowRun',
  method: 'POST',
  path: '/api/v2/workflows/{workflowId}/runs/{runId}/rerun',
  tag: 'Workflow Runs',
  summary: 'Start a run again, from its beginning or from a block',
  principals: AUTHENTICATED_PRINCIPALS,
  scope: 'api:write',
  role: 'write',
  resource: workflowResource,
  audit: { resourceType: 'run', actions: ['RUN_RERUN'] },
  params: schemas.runPath,
  query: noQuery,
  body: schemas.rerunBody,
  bodyOptional: true,
  success: [{ status: 202, schema: schemas.acceptedRun, description: 'The new run has started' }],
  errors: [400, 401, 402, 403, 404, 409, 413, 415, 429, 503],
  executesWorkflow: true,
  check({ headers, body }) {
    requireValidRunId(headers);
    if (body === undefined || body.blockId !== undefined) return;
    if (body.version === 'run')
      throw badRequest('version "run" needs a blockId: a run from its beginning uses the live version');
    if (body.iterations)
      throw badRequest('iterations need a blockId: they are the iterations around that block');
    if (body.fields ?? body.outputs)
      throw badRequest('fields and outputs need a blockId: they apply only to a run from a block');
  },
  async handle(services, call, workflow) {
    const { path, principal, headers, origin, runAudited } = call;
    // Replaced fields change what the block does, like a change to the draft.
    if (call.body?.fields && !USER_PRINCIPALS.some((kind) => kind === principal.kind))
      throw forbidden(
        'WORKSPACE_KEY_OPERATION_NOT_PERMITTED',
        'Only users can replace the fields of a block',
      );
    const source = await findRun(services, workflow, path.runId);
    if (!source.run) throw conflict(`Run ${source.runId} has not started: it cannot be started again.`);
    // As for an asynchronous run, the response does not wait for the end of the run.
    const body = schemas.executeBody.parse({ async: true });
    const ids = await reserveRunId(services, workflow, { headers, principal, body });
    let isStarted = false;
    const start = async (): Promise<void> => {
      const runRequest = {
        ...{ runId: ids.engineRunId, workflowId: workflow.id, workspaceId: workflow.workspaceId },
        ...{ userId: principal.userId, mode: 'async' as const },
      };
      const release = await admitRun(services, runRequest, accountOf(principal));
      const run = await startRerun(services, workflow, { ...call, ids, source }).catch((error: unknown) => {
        release?.();
        throw error;
      });
      isStarted = true;
      // The run's record contains its failure, so a rejection needs no report.
      if (release) void run.result().then(release, release);
    };
    try {
      await runAudited({ resourceId: ids.runId, details: { sourceRunId: source.runId } }, start);
    } catch (error) {
      if (!isStarted) await services.reservations.release(ids.engineRunId);
      throw error;
    }
    const data = acceptedRunOf(workflow.id, ids.runId, origin);
    return { status: 202, headers: { 'X-Run-Id': ids.runId }, data };
  },
});

interface RerunRequest {
  body: schemas.RerunBody | undefined;
  ids: RunIds;
  source: RunIds & { run: RunDetail };
  signal: AbortSignal;
}

/** Starts the new run. When it throws, no run exists. */
async function startRerun(
  services: AreaContext,
  workflow: Definition,
  request: RerunRequest,
): Promise<RunHandle> {
  const { engine, timeouts } = services;
  const { body = {}, ids, source } = request;
  const { blockId, iterations, version, fields, outputs } = body;
  const { asyncSeconds } = timeouts;
  const options: ExecuteOptions = {
    ...runIdOptions(ids),
    ...(asyncSeconds !== undefined && { timeoutMs: asyncSeconds * 1000 }),
  };
  if (blockId === undefined) return startFromBeginning(services, workflow, request, options);
  const input = body.input as Json | undefined;
  const restartOptions: Parameters<Engine['runFromBlock']>[2] = {
    ...options,
    ...(version === 'live' && { workflow: workflow.id, version: requireLiveVersion(workflow) }),
    ...(input !== undefined && { input }),
    ...(iterations && { iterations }),
    edits: { fields, outputs } as { [edited in 'fields' | 'outputs']?: JsonObject },
  };
  return withCallerRunId(source, () => engine.runFromBlock(source.engineRunId, blockId, restartOptions));
}

/** Starts the live version at the trigger at which the earlier run began, if the version has that trigger. */
async function startFromBeginning(
  { engine }: AreaContext,
  workflow: Definition,
  { body, source, signal }: RerunRequest,
  options: ExecuteOptions,
): Promise<RunHandle> {
  const version = requireLiveVersion(workflow);
  const trace = await engine.getTrace(source.engineRunId);
  const executedIds = new Set(trace.children.map(({ blockId }) => blockId));
  const triggers = await engine.triggers(workflow.id, { version });
  const start = triggers.find(({ blockId }) => executedIds.has(blockId))?.blockId;
  const startOptions = { version, ...(start !== undefined && { start }) };
  const newInput = body?.input as Json | undefined;
  const input =
    newInput === undefined
      ? trace.input && (await engine.readValue(trace.input))
      : await engine.storeFiles(workflow.id, newInput, { ...startOptions, signal });
  return engine.start(workflow.id, input ?? {}, { ...options, ...startOptions });
}
